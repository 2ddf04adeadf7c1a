package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/calldibs/dibs/internal/access"
)

// Browser is how browsers sign in at an issuer: the authorization code flow of OpenID Connect, with
// PKCE. The zero Browser means that they cannot.
type Browser struct {
	// ClientID is the name of this server at the issuer, and the audience of its ID tokens.
	ClientID string
	// ClientSecret is for issuers that want one. Empty means a public client.
	ClientSecret string
	// RedirectURL is where the issuer sends browsers: https://names.example.com/auth/oidc/callback.
	RedirectURL string
	// Scopes are asked for beside openid.
	Scopes []string
}

// CheckRedirectURL reports what is wrong with the URL to which an issuer sends browsers.
func CheckRedirectURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || u.Path != CallbackPath || u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return fmt.Errorf("must be the URL of this server with the path %s: https://names.example.com%s", CallbackPath, CallbackPath)
	case !confidential(u):
		return errors.New("must begin with https://: http:// is allowed for this machine only")
	}
	return nil
}

// CallbackPath is the path of a RedirectURL.
const CallbackPath = "/auth/oidc/callback"

// Login is an attempt to sign in at an issuer. The browser keeps its secret in a cookie until the
// issuer sends it back; everything that the attempt is recognised by follows from the secret.
type Login struct {
	Issuer string
	Secret string
}

// NewLogin returns an attempt to sign in.
func NewLogin(issuer string) Login { return Login{issuer, rand.Text() + rand.Text()} }

// HasState reports whether the state that came back is that of this attempt.
func (l Login) HasState(state string) bool {
	return l.Secret != "" && subtle.ConstantTimeCompare([]byte(state), []byte(l.state())) == 1
}

func (l Login) state() string    { return derive(l.Secret, "state") }
func (l Login) nonce() string    { return derive(l.Secret, "nonce") }
func (l Login) verifier() string { return derive(l.Secret, "verifier") }

var errNoSignIn = refuse(access.TokenIssuer, "browsers cannot sign in at this issuer: set clientId and redirectURL in its [[oidc]]")

// LoginURL returns the page of the issuer at which a browser signs in, and the URL to which it
// comes back.
func (a *Authenticator) LoginURL(ctx context.Context, login Login) (page, back string, err error) {
	tokens := a.trusted.Load().tokens
	if tokens == nil || tokens.issuers[login.Issuer] == nil || tokens.issuers[login.Issuer].Browser.ClientID == "" {
		return "", "", errNoSignIn
	}
	issuer := tokens.issuers[login.Issuer]
	if _, err := issuer.ready(ctx); err != nil {
		return "", "", err
	}
	u, err := url.Parse(issuer.endpoints().Authorization)
	if err != nil || !confidential(u) {
		return "", "", errNoAnswer
	}
	challenge := sha256.Sum256([]byte(login.verifier()))
	query := u.Query()
	for name, value := range map[string]string{
		"response_type": "code", "client_id": issuer.Browser.ClientID, "redirect_uri": issuer.Browser.RedirectURL,
		"scope": strings.Join(append([]string{"openid"}, issuer.Browser.Scopes...), " "),
		"state": login.state(), "nonce": login.nonce(),
		"code_challenge": base64.RawURLEncoding.EncodeToString(challenge[:]), "code_challenge_method": "S256",
	} {
		query.Set(name, value)
	}
	u.RawQuery = query.Encode()
	return u.String(), issuer.Browser.RedirectURL, nil
}

// redeem exchanges a code for an ID token, and returns the claims that decide about rights.
func (v *TokenVerifier) redeem(ctx context.Context, login Login, code string) (claims, error) {
	issuer := v.issuers[login.Issuer]
	if issuer == nil || issuer.Browser.ClientID == "" {
		return nil, errNoSignIn
	}
	if _, err := issuer.ready(ctx); err != nil {
		return nil, err
	}
	token, err := issuer.exchange(ctx, code, login.verifier())
	if err != nil {
		v.Logger.Warn("an issuer gave no token for a browser's code", "issuer", issuer.URL, "error", err)
		return nil, refuse(access.TokenMalformed, "the issuer gave no token for this sign-in: start again")
	}
	if len(token) > maxToken {
		return nil, refuse(access.TokenTooLarge, "this token has more than 16 KiB")
	}
	algorithm, from, err := peek(token)
	switch {
	case err != nil:
		return nil, err
	case from != issuer.URL:
		return nil, refuse(access.TokenIssuer, "this token is of another issuer")
	case !slices.Contains(issuer.Algorithms, algorithm):
		return nil, refuse(access.TokenAlgorithm, "this token is not signed with an algorithm that this server accepts")
	}
	all, err := issuer.verifiedClaims(ctx, token)
	if err != nil {
		return nil, err
	}
	if nonce, _ := all["nonce"].(string); subtle.ConstantTimeCompare([]byte(nonce), []byte(login.nonce())) != 1 {
		return nil, refuse(access.TokenMalformed, "this token is for another sign-in: start again")
	}
	kept := make(claims)
	for _, path := range issuer.claimPaths() {
		if value, ok := all[path[0]]; ok {
			kept[path[0]] = value
		}
	}
	return kept, nil
}

// sessionCaller returns the caller of a session, by the present rules of its issuer.
func (v *TokenVerifier) sessionCaller(issuerURL string, c claims) (access.Caller, error) {
	client := v.issuers[issuerURL]
	if client == nil || client.Browser.ClientID == "" {
		return access.Caller{}, errNoSignIn
	}
	issuer := client.Issuer
	issuer.Audience = []string{issuer.Browser.ClientID} // an ID token is for the client
	if err := issuer.check(c, v.Now()); err != nil {
		return access.Caller{}, err
	}
	caller, err := issuer.caller(c)
	if err == nil && len(caller.Grants) == 0 {
		err = refuse(access.Forbidden, "this account has no rights here")
	}
	return caller, err
}

// exchange sends a code to the issuer, and returns the ID token.
func (c *issuerClient) exchange(ctx context.Context, code, verifier string) (string, error) {
	b, at := c.Browser, c.endpoints()
	form := url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {b.RedirectURL}, "client_id": {b.ClientID}, "code_verifier": {verifier},
	}
	basic := len(at.AuthMethods) == 0 || slices.Contains(at.AuthMethods, "client_secret_basic")
	if b.ClientSecret != "" && !basic {
		form.Set("client_secret", b.ClientSecret)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, at.Token, strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Accept", "application/json")
	if b.ClientSecret != "" && basic { // RFC 6749, section 2.3.1
		request.SetBasicAuth(url.QueryEscape(b.ClientID), url.QueryEscape(b.ClientSecret))
	}
	response, err := (&fetcher{transport: c.options.Transport, timeout: c.options.fetchTimeout}).client().Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	var answer struct {
		IDToken string `json:"id_token"`
	}
	body, err := io.ReadAll(response.Body)
	if err == nil {
		err = json.Unmarshal(body, &answer)
	}
	if err == nil && answer.IDToken == "" {
		err = errors.New("the answer has no id_token")
	}
	return answer.IDToken, err
}
