package wire

import "github.com/calldibs/dibs"

// Entity is the thing that owns names.
type Entity struct {
	Type string `json:"type" doc:"What kind of thing it is." example:"wedding"`
	ID   string `json:"id" doc:"Which one it is." example:"42"`
}

// EntityOf returns the entity, or nil for none.
func EntityOf(e dibs.Entity) *Entity {
	if e.IsZero() {
		return nil
	}
	return &Entity{e.Type, e.ID}
}

// Entity returns the library's entity; zero for none.
func (e *Entity) Entity() dibs.Entity {
	if e == nil {
		return dibs.Entity{}
	}
	return dibs.Entity{Type: e.Type, ID: e.ID}
}

// Name is a name, or the reservation of one.
type Name struct {
	ReservationID string            `json:"reservationId" doc:"The same for the same key, always. Public, and never proof of anything." example:"res_c4mkvhn2l6u5tmbbq4zkzswwm4"`
	Token         string            `json:"token,omitempty" doc:"The proof of a hold. Shown once, to its holder."`
	Key           string            `json:"key" doc:"Namespace and canonical form." example:"slug:alice-bob"`
	Namespace     string            `json:"namespace" example:"slug"`
	Value         string            `json:"value" doc:"As the person wrote it." example:"Alice & Bob"`
	Canonical     string            `json:"canonical" doc:"What is unique." example:"alice-bob"`
	Status        string            `json:"status" enum:"reserved,suspect,confirmed,released,expired" doc:"What became of the last reservation."`
	State         string            `json:"state" enum:"free,held,suspect,active,alias,quarantined" doc:"What the name is to the rest of the world."`
	Epoch         uint64            `json:"epoch" doc:"Goes up with each new hold or owner: a fencing number for whatever stands downstream."`
	Entity        *Entity           `json:"entity,omitempty" doc:"The owner; of a hold the owner-to-be, of a name that was given up the last owner."`
	Version       uint64            `json:"version,omitempty" doc:"The entity's version."`
	Principal     string            `json:"principal,omitempty" doc:"Who reserved it."`
	CorrelationID string            `json:"correlationId,omitempty"`
	Meta          map[string]string `json:"meta,omitempty"`
	CreatedAt     string            `json:"createdAt,omitempty" format:"date-time" doc:"When this epoch began."`
	ExpiresAt     string            `json:"expiresAt,omitempty" format:"date-time" doc:"The end of a hold."`
	RemainingMs   int64             `json:"remainingMs" doc:"What is left of a hold, by the server's clock; 0 where there is none."`
	ConfirmedAt   string            `json:"confirmedAt,omitempty" format:"date-time"`
	EndedAt       string            `json:"endedAt,omitempty" format:"date-time" doc:"When it was released, expired or given up."`
	Until         string            `json:"until,omitempty" format:"date-time" doc:"The end of a quarantine, or of an old name's redirecting."`
	Doubt         string            `json:"doubt,omitempty" doc:"Why a suspect is one still."`
	Asked         int               `json:"asked,omitempty" doc:"Of a suspect: how often its witness was asked and did not know."`
	AskAt         string            `json:"askAt,omitempty" format:"date-time" doc:"Of a suspect: when its witness is asked next."`
	Replayed      bool              `json:"replayed" doc:"Whether the result stood already and nothing was changed."`
}

// NameOf shows a name.
func NameOf(n dibs.Name) Name {
	w := Name{
		ReservationID: n.ID.String(), Key: n.Key(), Namespace: n.Namespace, Value: n.Value, Canonical: n.Canonical,
		Status: string(n.Status), State: string(n.State), Epoch: n.Epoch, Entity: EntityOf(n.Entity), Version: n.Version,
		Principal: n.Principal, CorrelationID: n.CorrelationID, Meta: n.Meta,
		CreatedAt: formatTime(n.CreatedAt), ExpiresAt: formatTime(n.ExpiresAt), ConfirmedAt: formatTime(n.ConfirmedAt),
		EndedAt: formatTime(n.EndedAt), Until: formatTime(n.Until), Doubt: n.Doubt,
		Asked: n.Asked, AskAt: formatTime(n.AskAt),
	}
	w.RemainingMs = n.Remaining.Milliseconds()
	return w
}

// HoldOf shows a reservation to its holder.
func HoldOf(h dibs.Hold) Name {
	w := NameOf(h.Name)
	w.Token, w.Replayed = h.Token, h.Replayed
	return w
}

// Name returns the library's name.
func (n Name) Name() (dibs.Name, error) {
	id, err := dibs.ParseID(n.ReservationID)
	if err != nil {
		return dibs.Name{}, err
	}
	name := dibs.Name{
		ID: id, Namespace: n.Namespace, Value: n.Value, Canonical: n.Canonical,
		Status: dibs.Status(n.Status), State: dibs.State(n.State), Epoch: n.Epoch, Entity: n.Entity.Entity(), Version: n.Version,
		Principal: n.Principal, CorrelationID: n.CorrelationID, Meta: n.Meta,
		CreatedAt: parseTime(n.CreatedAt), ExpiresAt: parseTime(n.ExpiresAt), ConfirmedAt: parseTime(n.ConfirmedAt),
		EndedAt: parseTime(n.EndedAt), Until: parseTime(n.Until), Doubt: n.Doubt,
		Asked: n.Asked, AskAt: parseTime(n.AskAt),
	}
	name.Remaining = Duration(n.RemainingMs)
	return name, nil
}
