package wire

import "github.com/calldibs/dibs"

// Entity is the thing that owns names.
type Entity struct {
	Type string `json:"type" doc:"The kind of entity." example:"wedding"`
	ID   string `json:"id" doc:"The id within the type." example:"42"`
}

// EntityOf converts an entity; nil for the zero entity.
func EntityOf(e dibs.Entity) *Entity {
	if e.IsZero() {
		return nil
	}
	return (*Entity)(&e)
}

// Entity returns the library's entity; zero for nil.
func (e *Entity) Entity() dibs.Entity {
	if e == nil {
		return dibs.Entity{}
	}
	return dibs.Entity(*e)
}

// Name is a name, or the reservation of one.
type Name struct {
	ReservationID string            `json:"reservationId" doc:"Always the same for the same key. It is public, and proves nothing." example:"res_c4mkvhn2l6u5tmbbq4zkzswwm4"`
	Token         string            `json:"token,omitempty" doc:"The proof of a hold. Shown once, to its holder."`
	Key           string            `json:"key" doc:"Namespace and canonical form." example:"slug:alice-bob"`
	Namespace     string            `json:"namespace" example:"slug"`
	Value         string            `json:"value" doc:"As the caller sent it." example:"Alice & Bob"`
	Canonical     string            `json:"canonical" doc:"The canonical form, which is unique." example:"alice-bob"`
	Status        string            `json:"status" enum:"reserved,suspect,confirmed,released,expired" doc:"The status of the last reservation."`
	State         string            `json:"state" enum:"free,held,suspect,active,alias,quarantined" doc:"The state of the name."`
	Epoch         uint64            `json:"epoch" doc:"Increases with each new hold or owner: a fencing token for other systems."`
	Entity        *Entity           `json:"entity,omitempty" doc:"The owner. For a hold: the owner-to-be. For a name that was given up: the last owner."`
	Version       uint64            `json:"version,omitempty" doc:"The entity's version."`
	Principal     string            `json:"principal,omitempty" doc:"The principal that reserved it."`
	CorrelationID string            `json:"correlationId,omitempty"`
	Meta          map[string]string `json:"meta,omitempty"`
	CreatedAt     string            `json:"createdAt,omitempty" format:"date-time" doc:"When this epoch began."`
	ExpiresAt     string            `json:"expiresAt,omitempty" format:"date-time" doc:"The end of a hold."`
	RemainingMs   int64             `json:"remainingMs" doc:"The time left of a hold, by the server's clock; 0 without a hold."`
	ConfirmedAt   string            `json:"confirmedAt,omitempty" format:"date-time"`
	EndedAt       string            `json:"endedAt,omitempty" format:"date-time" doc:"When it was released, expired or given up."`
	Until         string            `json:"until,omitempty" format:"date-time" doc:"The end of a quarantine, or of an alias."`
	Doubt         string            `json:"doubt,omitempty" doc:"Why a suspect is not settled yet."`
	Asked         int               `json:"asked,omitempty" doc:"For a suspect: how often its witness was asked and did not know."`
	AskAt         string            `json:"askAt,omitempty" format:"date-time" doc:"For a suspect: when its witness is asked next."`
	Replayed      bool              `json:"replayed" doc:"Whether this is a replay: nothing was changed."`
}

// NameOf converts a name.
func NameOf(n dibs.Name) Name {
	return Name{
		ReservationID: n.ID.String(), Key: n.Key(), Namespace: n.Namespace, Value: n.Value, Canonical: n.Canonical,
		Status: string(n.Status), State: string(n.State), Epoch: n.Epoch, Entity: EntityOf(n.Entity), Version: n.Version,
		Principal: n.Principal, CorrelationID: n.CorrelationID, Meta: n.Meta,
		CreatedAt: FormatTime(n.CreatedAt), ExpiresAt: FormatTime(n.ExpiresAt), ConfirmedAt: FormatTime(n.ConfirmedAt),
		EndedAt: FormatTime(n.EndedAt), Until: FormatTime(n.Until), Doubt: n.Doubt,
		Asked: n.Asked, AskAt: FormatTime(n.AskAt), RemainingMs: n.Remaining.Milliseconds(),
	}
}

// Name returns the library's name.
func (n Name) Name() (dibs.Name, error) {
	id, err := dibs.ParseID(n.ReservationID)
	if err != nil {
		return dibs.Name{}, err
	}
	return dibs.Name{
		ID: id, Namespace: n.Namespace, Value: n.Value, Canonical: n.Canonical,
		Status: dibs.Status(n.Status), State: dibs.State(n.State), Epoch: n.Epoch, Entity: n.Entity.Entity(), Version: n.Version,
		Principal: n.Principal, CorrelationID: n.CorrelationID, Meta: n.Meta,
		CreatedAt: parseTime(n.CreatedAt), ExpiresAt: parseTime(n.ExpiresAt), ConfirmedAt: parseTime(n.ConfirmedAt),
		EndedAt: parseTime(n.EndedAt), Until: parseTime(n.Until), Doubt: n.Doubt,
		Asked: n.Asked, AskAt: parseTime(n.AskAt), Remaining: Duration(n.RemainingMs),
	}, nil
}

// optionalName converts a name that may be absent, which is nil.
func optionalName(n *dibs.Name) *Name {
	if n == nil {
		return nil
	}
	w := NameOf(*n)
	return &w
}

// optional returns the library's name; nil for nil.
func (n *Name) optional() (*dibs.Name, error) {
	if n == nil {
		return nil, nil
	}
	name, err := n.Name()
	return &name, err
}
