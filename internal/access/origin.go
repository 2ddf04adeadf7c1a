package access

import (
	"errors"
	"net/url"
	"strings"
)

// CheckOrigin reports what is wrong with an origin, which must be written as browsers write
// it.
func CheckOrigin(origin string) error {
	u, err := url.Parse(origin)
	switch {
	case origin == "*":
		return errors.New("must be one site: pages of any other site could act for their visitors")
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return errors.New("must be the origin of a site: https://app.example.com")
	case strings.Contains(u.Host, "*"):
		return errors.New("must be one site: name each of them")
	case u.Scheme == "https" && u.Port() == "443" || u.Scheme == "http" && u.Port() == "80":
		return errors.New("must not have the default port: browsers leave it out")
	case origin != u.Scheme+"://"+strings.ToLower(u.Host) || strings.HasSuffix(u.Host, ":"):
		return errors.New("must be scheme and host in lower case, without a path or a final slash: https://app.example.com")
	}
	return nil
}
