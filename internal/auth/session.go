package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/document"
)

// MaxSession is how long a session lasts at most. It ends earlier with its key or its token.
const MaxSession = 12 * time.Hour

// ErrNoSession is returned if no session has the id: it never existed, has expired, or was ended,
// or its key was revoked. The error does not say which.
var ErrNoSession = errors.New("the session is over")

// Session is a browser that is signed in.
type Session struct {
	Caller    access.Caller
	ExpiresAt time.Time
}

const kindSession dibs.Kind = "session"

// storedSession is the content of a session's document. The cookie has the id of the session, the
// store only its digest; neither has the secret of a key, nor a token.
type storedSession struct {
	ExpiresAt dibs.Instant `json:"expiresAt"`
	// Prefix and Digest are those of the key. Another key of the same name is not the same key.
	Prefix string `json:"prefix,omitempty"`
	Digest string `json:"digest,omitempty"`
	// Issuer and Claims are those of the token, with the claims that decide about rights.
	Issuer string `json:"issuer,omitempty"`
	Claims claims `json:"claims,omitempty"`
}

func sessionRef(sum Digest) dibs.Ref { return dibs.Ref{Kind: kindSession, ID: dibs.ID(sum[:16])} }

// SignIn begins a session with an API key, and returns its id, which is a secret.
func (a *Authenticator) SignIn(ctx context.Context, secret string) (id string, _ Session, _ error) {
	key, err := a.keys.Find(ctx, secret)
	if err != nil {
		return "", Session{}, err
	}
	sum := digestOf(secret)
	stored := storedSession{Prefix: key.Prefix, Digest: hex.EncodeToString(sum[:]), ExpiresAt: dibs.InstantOf(key.ExpiresAt)}
	id, end, err := a.sessions.create(ctx, stored)
	return id, sessionOf(key.Caller(), end), err
}

// SignInByCode begins a session with the code that an issuer gave a browser.
func (a *Authenticator) SignInByCode(ctx context.Context, login Login, code string) (id string, _ Session, _ error) {
	tokens := a.trusted.Load().tokens
	if tokens == nil {
		return "", Session{}, errNoSignIn
	}
	verified, err := tokens.redeem(ctx, login, code)
	if err != nil {
		return "", Session{}, err
	}
	caller, err := tokens.sessionCaller(login.Issuer, verified)
	if err != nil {
		return "", Session{}, err
	}
	end, _ := verified.time("exp")
	id, ends, err := a.sessions.create(ctx, storedSession{Issuer: login.Issuer, Claims: verified, ExpiresAt: dibs.InstantOf(end)})
	return id, sessionOf(caller, ends), err
}

// Session returns the session with an id. The error matches [ErrNoSession] if there is none;
// otherwise it is the engine's.
func (a *Authenticator) Session(ctx context.Context, id string) (Session, error) {
	stored, err := a.sessions.find(ctx, id)
	if err != nil {
		return Session{}, err
	}
	var caller access.Caller
	if stored.Issuer == "" {
		var key Key
		key, err = a.keys.find(ctx, stored.Prefix, stored.digest())
		caller = key.Caller()
	} else if tokens := a.trusted.Load().tokens; tokens != nil {
		caller, err = tokens.sessionCaller(stored.Issuer, stored.Claims)
	} else {
		err = ErrNoSession
	}
	var refused *access.RefusedError
	if errors.Is(err, ErrUnknownKey) || errors.As(err, &refused) {
		err = ErrNoSession
	}
	return sessionOf(caller, stored.ExpiresAt), err
}

func sessionOf(caller access.Caller, end dibs.Instant) Session {
	caller.SessionEnds = end.Time()
	return Session{caller, end.Time()}
}

// SignOut ends a session.
func (a *Authenticator) SignOut(ctx context.Context, id string) error { return a.sessions.end(ctx, id) }

// IsOpen reports whether requests need no credentials.
func (a *Authenticator) IsOpen(ctx context.Context) (bool, error) {
	_, err := a.anonymous(ctx)
	if errors.Is(err, ErrUnknownKey) {
		return false, nil
	}
	return err == nil, err
}

// SignInIssuers returns the issuers at which browsers can sign in, sorted.
func (a *Authenticator) SignInIssuers() []string {
	tokens := a.trusted.Load().tokens
	if tokens == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(tokens.issuers)), func(url string) bool { return tokens.issuers[url].Browser.ClientID == "" })
}

func (s *storedSession) digest() (sum Digest) {
	if digest, err := hex.DecodeString(s.Digest); err == nil && len(digest) == len(sum) { // otherwise damaged: no key has it
		copy(sum[:], digest)
	}
	return sum
}

// sessionStore keeps sessions in a store, so that all servers know them, and they outlast a
// restart. It caches each for up to five seconds, as [KeyStore] does.
type sessionStore struct {
	store dibs.Store
	now   func() time.Time

	mu     sync.Mutex
	cached map[Digest]cachedSession
}

// cachedSession is an answer, valid until a time.
type cachedSession struct {
	session *storedSession // nil means that it is over
	until   time.Time
}

func newSessionStore(store dibs.Store) *sessionStore {
	return &sessionStore{store: store, now: time.Now, cached: make(map[Digest]cachedSession)}
}

// create stores a session. It ends after MaxSession, or when its key or token does.
func (s *sessionStore) create(ctx context.Context, session storedSession) (id string, end dibs.Instant, err error) {
	id = strings.ToLower(rand.Text() + rand.Text()) // 260 bits
	sum := digestOf(id)
	err = document.Update(ctx, s.store, func() (dibs.Group, error) {
		found, err := s.store.Load(ctx, nil)
		if err != nil {
			return dibs.Group{}, err
		}
		end = found.Now.Add(MaxSession)
		if session.ExpiresAt != 0 {
			end = min(end, session.ExpiresAt)
		}
		stored := session
		stored.ExpiresAt = end
		data, err := json.Marshal(stored)
		ref := sessionRef(sum)
		// The sweeper deletes it after its end.
		doc := &dibs.Document{Kind: ref.Kind, ID: ref.ID, Rev: 1, Label: hex.EncodeToString(sum[:]), Due: end, Data: data}
		return dibs.Group{Reads: []dibs.Read{{Ref: ref}}, Writes: []dibs.Write{{Record: doc}}}, err
	})
	return id, end, err
}

const sessionIDLength = 52

func (s *sessionStore) find(ctx context.Context, id string) (*storedSession, error) {
	if len(id) != sessionIDLength || !consistsOf(id, secretChars) {
		return nil, ErrNoSession
	}
	sum := digestOf(id)
	session, known := s.recall(sum)
	if !known {
		asked := s.now()
		var err error
		if session, err = s.read(ctx, sum); err != nil {
			return nil, err
		}
		s.remember(sum, session, asked)
	}
	if session == nil || !s.now().Before(session.ExpiresAt.Time()) {
		return nil, ErrNoSession
	}
	return session, nil
}

// read returns a session from the engine, or nil if there is none.
func (s *sessionStore) read(ctx context.Context, sum Digest) (*storedSession, error) {
	found, err := s.store.Load(ctx, []dibs.Ref{sessionRef(sum)})
	if err != nil || len(found.Records) == 0 {
		return nil, err
	}
	doc, ok := found.Records[0].(*dibs.Document)
	if !ok || doc.Label != hex.EncodeToString(sum[:]) {
		return nil, nil
	}
	session := new(storedSession)
	if err := json.Unmarshal(doc.Data, session); err != nil || session.ExpiresAt.Reached(found.Now) {
		return nil, nil //nolint:nilerr // a damaged session is over
	}
	return session, nil
}

func (s *sessionStore) recall(sum Digest) (session *storedSession, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer, ok := s.cached[sum]
	if !ok || !s.now().Before(answer.until) {
		return nil, false
	}
	return answer.session, true
}

// remember caches the answer to a read that began at asked. A session that was ended meanwhile
// stays ended.
func (s *sessionStore) remember(sum Digest, session *storedSession, asked time.Time) {
	if session != nil { // a made-up id is not worth a place
		s.put(sum, cachedSession{session, asked.Add(keepKey)})
	}
}

func (s *sessionStore) put(sum Digest, answer cachedSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.cached[sum]; ok && known.session == nil && s.now().Before(known.until) {
		return // it was ended
	}
	for other := range s.cached { // if there is no room, evict an arbitrary answer
		if len(s.cached) < maxCached {
			break
		}
		delete(s.cached, other)
	}
	s.cached[sum] = answer
}

// end ends a session, if there is one: here at once, on other servers within seconds.
func (s *sessionStore) end(ctx context.Context, id string) error {
	if _, err := s.find(ctx, id); err != nil {
		if errors.Is(err, ErrNoSession) {
			return nil
		}
		return err
	}
	sum := digestOf(id)
	s.put(sum, cachedSession{until: s.now().Add(keepKey)})
	return document.Update(ctx, s.store, func() (dibs.Group, error) {
		found, err := s.store.Load(ctx, []dibs.Ref{sessionRef(sum)})
		if err != nil || len(found.Records) == 0 {
			return dibs.Group{}, err
		}
		r := found.Records[0]
		return dibs.Group{
			Reads:  []dibs.Read{{Ref: r.Ref(), Rev: r.Revision()}},
			Writes: []dibs.Write{{Record: r, Delete: true}},
		}, nil
	})
}

// derive returns a text that only the owner of a secret can compute.
func derive(secret, purpose string) string {
	sum := sha256.Sum256([]byte(purpose + "\x00" + secret))
	return hex.EncodeToString(sum[:])
}
