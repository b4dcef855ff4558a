package settings

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"

	"github.com/reveille-run/reveille/core"
)

// list reads values with commas between them; nothing is an empty list. check
// returns a value as it is compared later.
func list(field func(*Settings) *[]string, check func(string) (string, error)) func(*Settings, string) error {
	return func(s *Settings, v string) error {
		if v == "" {
			return nil
		}
		for item := range strings.SplitSeq(v, ",") {
			item, err := check(strings.TrimSpace(item))
			if err != nil {
				return err
			}
			*field(s) = append(*field(s), item)
		}
		return nil
	}
}

var errForm = errors.New("not of the allowed form")

// hostName returns a name or address in lower case, an IPv6 address in brackets.
func hostName(v string) (string, error) {
	v = strings.ToLower(v)
	bare, bracketed := strings.CutPrefix(v, "[")
	if bracketed {
		bare = strings.TrimSuffix(bare, "]")
	}
	if ip, err := netip.ParseAddr(bare); err == nil && ip.Zone() == "" && (ip.Is6() || !bracketed) {
		if ip.Is6() {
			return "[" + ip.String() + "]", nil
		}
		return ip.String(), nil
	}
	if !isDomain(v) {
		return "", errForm
	}
	return v, nil
}

// origin refuses what no browser would send in Origin, since it would never
// match: no path, no capital letter, no default port, and no pattern.
func origin(v string) (string, error) {
	u, err := url.Parse(v)
	if err != nil {
		return "", err
	}
	name, err := hostName(strings.TrimSuffix(u.Host, ":"+u.Port()))
	port := ""
	if u.Port() != "" {
		port = ":" + u.Port()
	}
	switch {
	case err != nil:
		return "", err
	case u.Scheme == "http" && port == ":80", u.Scheme == "https" && port == ":443",
		u.Scheme == "", u.Scheme+"://"+name+port != v:
		return "", errForm
	}
	return v, nil
}

// user returns the name of a user, or the star that stands for all.
func user(v string) (string, error) {
	if v != "*" && core.CheckName("user", v) != nil {
		return "", errForm
	}
	return v, nil
}
