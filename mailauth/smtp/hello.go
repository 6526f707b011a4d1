package smtp

import (
	"slices"
	"strconv"
	"strings"
)

// A Hello is the answer of a server to EHLO or HELO.
type Hello struct {
	Reply      Reply
	Extended   bool        // came for EHLO, not for HELO
	Domain     string      // the name that the server gives itself, as sent
	Extensions []Extension // in the order sent
}

// An Extension is what a server can do beyond the basic protocol (RFC 5321 section 2.2).
type Extension struct {
	Name   string   // in upper case
	Params []string // as sent
}

// parseHello reads the lines of a reply to EHLO (RFC 5321 section 4.1.1.1).
func parseHello(r Reply, extended bool) Hello {
	h := Hello{Reply: r, Extended: extended, Extensions: []Extension{}}
	if fields := strings.Fields(r.Text()); len(fields) > 0 {
		h.Domain = fields[0]
	}
	if !extended || len(r.Lines) == 0 {
		return h
	}
	for _, line := range r.Lines[1:] {
		if fields := strings.Fields(line); len(fields) > 0 {
			h.Extensions = append(h.Extensions, Extension{strings.ToUpper(fields[0]), fields[1:]})
		}
	}
	return h
}

// Extension returns the first extension of a name, in upper case, and whether there is one.
func (h Hello) Extension(name string) (Extension, bool) {
	i := slices.IndexFunc(h.Extensions, func(e Extension) bool { return e.Name == name })
	if i < 0 {
		return Extension{}, false
	}
	return h.Extensions[i], true
}

// Has reports whether the server lists an extension, by its name in upper case.
func (h Hello) Has(name string) bool {
	_, ok := h.Extension(name)
	return ok
}

// Mechanisms returns the SASL mechanisms of the extension AUTH, in upper case and without duplicates
// (RFC 4954 section 3). Old servers also list them as "AUTH=LOGIN".
func (h Hello) Mechanisms() []string {
	list := []string{}
	for _, e := range h.Extensions {
		name, first, _ := strings.Cut(e.Name, "=")
		if name != "AUTH" {
			continue
		}
		for _, m := range append([]string{first}, e.Params...) {
			if m = strings.ToUpper(m); m != "" && !slices.Contains(list, m) {
				list = append(list, m)
			}
		}
	}
	return list
}

// Size returns the largest message that the server accepts, in bytes; false if it does not say, or
// says that there is no fixed limit (RFC 1870 section 4).
func (h Hello) Size() (int64, bool) {
	e, ok := h.Extension("SIZE")
	if !ok || len(e.Params) == 0 {
		return 0, false
	}
	n, err := strconv.ParseInt(e.Params[0], 10, 64)
	return n, err == nil && n > 0
}
