package settings

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"

	"github.com/reveille-run/reveille/core"
)

// list reads values that are separated by commas. check returns a value in the form in
// which it is compared later.
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

// origin refuses a value that no browser sends in the header Origin, since it never
// matches: one with a path, a capital letter, a default port or a pattern.
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

// user returns the name of a user, or the star for all users.
func user(v string) (string, error) {
	if v != "*" && core.CheckName("user", v) != nil {
		return "", errForm
	}
	return v, nil
}
