package server

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/auth"
)

// Browsers sign in once and then have a session, in a cookie that scripts cannot read and that
// browsers send only from pages of this server. Everything else is in the store. Programs send a
// key with each request.

const (
	sessionCookie = "dibs_session"
	loginCookie   = "dibs_login"
	loginTime     = 600 // seconds that a person has to sign in at an issuer
	maxSignIn     = 4 << 10
)

// registerSignIn adds the calls by which a browser signs in and out. They are not part of the API:
// no program needs them.
func (s *Server) registerSignIn() {
	if s.cfg.SignIn == nil {
		return
	}
	s.handle("GET /auth/methods", s.signInMethods)
	s.handle("POST /auth/sign-in", s.signInWithKey)
	s.handle("POST /auth/sign-out", s.signOut)
	s.handle("GET /auth/oidc/start", s.startLogin)
	s.handle("GET "+auth.CallbackPath, s.finishLogin)
}

// cookieName returns the name of a cookie. Browsers do not keep the cookies of two ports of a host
// apart, and let only this very host set a cookie with the prefix __Host-.
func cookieName(name string, r *http.Request, secure bool) string {
	if _, port, found := strings.Cut(r.Host, ":"); found && !strings.Contains(port, ":") {
		name += "_" + port
	}
	if secure {
		name = "__Host-" + name
	}
	return name
}

// sessionOf returns the id of the session in a request; empty if there is none. Several do not
// count: a page of a neighbouring host may have set one.
func sessionOf(r *http.Request) string {
	if len(r.Header["Cookie"]) == 0 {
		return ""
	}
	for _, secure := range []bool{true, false} {
		if found := r.CookiesNamed(cookieName(sessionCookie, r, secure)); len(found) == 1 {
			return found[0].Value
		}
		if r.TLS != nil { // only this very host could set the first
			break
		}
	}
	return ""
}

// cameByTLS reports whether the browser uses TLS, to this server or to a proxy in front of it. It
// says so itself, in the origin of its page.
func cameByTLS(r *http.Request) bool {
	return r.TLS != nil || strings.HasPrefix(r.Header.Get("Origin"), "https://")
}

// setCookie sets a cookie that scripts cannot read. Age 0 removes it.
func setCookie(h http.Header, r *http.Request, name, value string, secure bool, age int, site http.SameSite) {
	if age == 0 {
		age = -1
	}
	cookie := http.Cookie{
		Name: cookieName(name, r, secure), Value: value, Path: "/", MaxAge: age, HttpOnly: true, Secure: secure, SameSite: site,
	}
	h.Add("Set-Cookie", cookie.String())
}

// identifySession returns the caller of a session, or a problem. Only pages of this server use
// it, in any call.
func (s *Server) identifySession(r *http.Request, id string) (access.Caller, *problem) {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		s.cfg.Metrics.deny(access.CrossOrigin)
		return access.Caller{}, newProblem(http.StatusForbidden, "CROSS_ORIGIN", "only pages of this server may use the session of a browser")
	}
	session, err := s.cfg.SignIn.Session(r.Context(), id)
	switch {
	case errors.Is(err, auth.ErrNoSession):
		p := s.signInProblem(&access.RefusedError{Reason: access.SessionOver, Detail: "this session is over: sign in again"}, true)
		dropSession(p.header, r) // a server that needs no credentials accepts the next request
		return access.Caller{}, p
	case err != nil:
		return access.Caller{}, s.signInProblem(err, true)
	}
	return session.Caller, nil
}

type signInMethod struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

func (s *Server) signInMethods(x *exchange, r *http.Request) {
	open, err := s.cfg.SignIn.IsOpen(r.Context())
	if err != nil {
		writeProblem(x, s.problemOf(err))
		return
	}
	issuers := []signInMethod{}
	for _, issuer := range s.cfg.SignIn.SignInIssuers() {
		issuers = append(issuers, signInMethod{issuer, issuer})
	}
	writeJSON(x, map[string]any{"required": !open, "key": true, "issuers": issuers})
}

func (s *Server) signInWithKey(x *exchange, r *http.Request) {
	var body struct {
		Key string `json:"key"`
	}
	decoder := json.NewDecoder(http.MaxBytesReader(x, r.Body, maxSignIn))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&body); err != nil || body.Key == "" {
		writeProblem(x, newProblem(http.StatusUnprocessableEntity, "INVALID_REQUEST", `the body must be {"key": "dibs_…"}`))
		return
	}
	// The same way as a request with this key, with the same limits.
	shown := r.Clone(r.Context())
	shown.Header.Del("Cookie")
	shown.Header.Set("Authorization", "Bearer "+strings.TrimSpace(body.Key))
	visitor := s.limits.proxies.Visitor(r)
	caller, p := s.signIn(shown, visitor)
	if p == nil {
		p = s.charge(&requestInfo{caller: caller, visitor: visitor, kind: writing, header: x.Header()}, writing, 1)
	}
	if p != nil {
		writeProblem(x, p)
		return
	}
	id, session, err := s.cfg.SignIn.SignIn(r.Context(), strings.TrimSpace(body.Key))
	switch {
	case errors.Is(err, auth.ErrUnknownKey): // a token, which ends by itself
		writeProblem(x, newProblem(http.StatusUnprocessableEntity, "INVALID_REQUEST", "sign in with an API key"))
		return
	case err != nil:
		writeProblem(x, s.problemOf(err))
		return
	}
	s.limits.goodCredentials.Add(visitor.Addr.String(), id)
	setCookie(x.Header(), r, sessionCookie, id, cameByTLS(r), int(auth.MaxSession.Seconds()), http.SameSiteStrictMode)
	writeJSON(x, meOf(session.Caller))
}

func (s *Server) signOut(x *exchange, r *http.Request) {
	_, _ = io.Copy(io.Discard, http.MaxBytesReader(x, r.Body, maxSignIn))
	if id := sessionOf(r); id != "" {
		if err := s.cfg.SignIn.SignOut(r.Context(), id); err != nil {
			writeProblem(x, s.problemOf(err))
			return
		}
	}
	dropSession(x.Header(), r)
	x.WriteHeader(http.StatusNoContent)
}

// dropSession removes the session's cookie.
func dropSession(h http.Header, r *http.Request) {
	for _, secure := range []bool{true, false} {
		if len(r.CookiesNamed(cookieName(sessionCookie, r, secure))) > 0 {
			setCookie(h, r, sessionCookie, "", secure, 0, http.SameSiteStrictMode)
		}
	}
}

// startLogin sends the browser to an issuer. The cookie that it gets comes back with it: SameSite is
// Lax, because the issuer is another site.
func (s *Server) startLogin(x *exchange, r *http.Request) {
	query := r.URL.Query()
	login := auth.NewLogin(query.Get("issuer"))
	page, back, err := s.cfg.SignIn.LoginURL(r.Context(), login)
	if err != nil {
		s.loginFailed(x, r, err)
		return
	}
	encode := base64.RawURLEncoding.EncodeToString
	value := login.Secret + "." + encode([]byte(login.Issuer)) + "." + encode([]byte(localPath(query.Get("return"))))
	setCookie(x.Header(), r, loginCookie, value, strings.HasPrefix(back, "https://"), loginTime, http.SameSiteLaxMode)
	sendTo(x, page)
}

// finishLogin takes the browser back from an issuer.
func (s *Server) finishLogin(x *exchange, r *http.Request) {
	login, next, secure := loginOf(r)
	setCookie(x.Header(), r, loginCookie, "", secure, 0, http.SameSiteLaxMode)
	query := r.URL.Query()
	switch {
	case !login.HasState(query.Get("state")):
		sendTo(x, "/?signInError=expired")
		return
	case query.Get("code") == "":
		sendTo(x, "/?signInError=denied")
		return
	case query.Has("iss") && query.Get("iss") != login.Issuer: // RFC 9207
		sendTo(x, "/?signInError=failed")
		return
	}
	// Each code is a request to the issuer: made-up ones count as failed sign-ins.
	visitor, buckets := s.limits.proxies.Visitor(r), s.limits.signIns
	limited := buckets != nil && visitor.Known
	if limited && !buckets.Peek(visitor.Addr, 1).OK {
		sendTo(x, "/?signInError=failed")
		return
	}
	id, _, err := s.cfg.SignIn.SignInByCode(r.Context(), login, query.Get("code"))
	if err != nil {
		if limited {
			buckets.Take(visitor.Addr, 1)
		}
		s.loginFailed(x, r, err)
		return
	}
	s.limits.goodCredentials.Add(visitor.Addr.String(), id)
	setCookie(x.Header(), r, sessionCookie, id, secure, int(auth.MaxSession.Seconds()), http.SameSiteStrictMode)
	sendTo(x, next)
}

// loginOf returns the attempt to sign in that a browser began, and where it goes afterwards.
func loginOf(r *http.Request) (login auth.Login, next string, secure bool) {
	for _, secure := range []bool{true, false} {
		found := r.CookiesNamed(cookieName(loginCookie, r, secure))
		if len(found) != 1 {
			continue
		}
		parts := strings.Split(found[0].Value, ".")
		if len(parts) != 3 {
			continue
		}
		issuer, err1 := base64.RawURLEncoding.DecodeString(parts[1])
		back, err2 := base64.RawURLEncoding.DecodeString(parts[2])
		if err1 == nil && err2 == nil {
			return auth.Login{Issuer: string(issuer), Secret: parts[0]}, localPath(string(back)), secure
		}
	}
	return auth.Login{}, "/", r.TLS != nil
}

// loginFailed sends a browser back to the page, which shows why.
func (s *Server) loginFailed(x *exchange, r *http.Request, err error) {
	reason := "failed"
	var refused *access.RefusedError
	switch {
	case errors.As(err, &refused):
		s.cfg.Metrics.deny(refused.Reason)
		if refused.Reason == access.Forbidden {
			reason = "forbidden"
		}
	case r.Context().Err() == nil:
		s.cfg.Logger.Warn("a sign-in failed", "error", err)
	}
	sendTo(x, "/?signInError="+reason)
}

// sendTo redirects a browser. The URL that it comes from has a code in it, which no other site may
// see.
func sendTo(x *exchange, target string) {
	x.Header().Set("Location", target)
	x.Header().Set("Referrer-Policy", "no-referrer")
	x.WriteHeader(http.StatusFound)
}

// localPath returns a path of this server with its query, and "/" for anything else: a link from
// elsewhere must not lead to another site.
func localPath(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") || strings.ContainsAny(text, "\\\r\n\t") {
		return "/"
	}
	if u.Fragment != "" { // the dashboard has its addresses there
		return u.RequestURI() + "#" + u.EscapedFragment()
	}
	return u.RequestURI()
}
