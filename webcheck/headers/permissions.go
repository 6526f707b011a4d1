package headers

import (
	"strings"

	"github.com/dunglas/httpsfv"
)

// features are the Permissions-Policy of a page: a structured dictionary whose values are * or lists of self, src
// and quoted origins (Permissions Policy section 5.2, RFC 9651).
type features struct {
	sent  bool
	err   error
	lists map[string][]string // the allowlist of each feature; * stands for itself
	order []string
}

func readFeatures(values []string) features {
	f := features{sent: len(values) > 0, lists: map[string][]string{}}
	if !f.sent {
		return f
	}
	dict, err := httpsfv.UnmarshalDictionary(values)
	if err != nil {
		f.err = err
		return f
	}
	for _, name := range dict.Names() {
		member, _ := dict.Get(name)
		f.order = append(f.order, name)
		f.lists[name] = []string{}
		switch m := member.(type) {
		case httpsfv.Item:
			f.lists[name] = append(f.lists[name], allowed(m)...)
		case httpsfv.InnerList:
			for _, item := range m.Items {
				f.lists[name] = append(f.lists[name], allowed(item)...)
			}
		}
	}
	return f
}

// allowed returns an entry of an allowlist; what browsers do not know is left out.
func allowed(item httpsfv.Item) []string {
	switch v := item.Value.(type) {
	case httpsfv.Token:
		if v == "*" || v == "self" || v == "src" {
			return []string{string(v)}
		}
	case string:
		return []string{`"` + v + `"`}
	}
	return nil
}

// String writes the policy as a header field.
func (f *features) String() string {
	var parts []string
	for _, name := range f.order {
		list := "(" + strings.Join(f.lists[name], " ") + ")"
		if len(f.lists[name]) == 1 && f.lists[name][0] == "*" {
			list = "*"
		}
		parts = append(parts, name+"="+list)
	}
	return strings.Join(parts, ", ")
}

// closed reports whether a feature is switched off for everybody.
func (f *features) closed(name string) bool {
	list, ok := f.lists[name]
	return ok && len(list) == 0
}

// maxFeatures bounds a policy of the old syntax that is translated.
const maxFeatures = 100

// translated reads the syntax of Feature-Policy, "geolocation 'self'; camera 'none'", and writes it as
// Permissions-Policy; empty if it is something else.
func translated(old string) string {
	f := features{lists: map[string][]string{}}
	for entry := range strings.FieldsFuncSeq(old, func(r rune) bool { return r == ';' || r == ',' }) {
		fields := strings.Fields(strings.ToLower(entry))
		if len(fields) == 0 {
			continue
		}
		name := fields[0]
		if _, twice := f.lists[name]; twice || len(f.order) == maxFeatures || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz-") != "" {
			return ""
		}
		f.order, f.lists[name] = append(f.order, name), []string{}
		for _, origin := range fields[1:] {
			switch {
			case origin == "'none'" && len(fields) == 2:
			case origin == "'self'" || origin == "'src'" || origin == "*":
				f.lists[name] = append(f.lists[name], strings.Trim(origin, "'"))
			case strings.HasPrefix(origin, "https://") && strings.Trim(origin, "abcdefghijklmnopqrstuvwxyz0123456789-.:/*") == "":
				f.lists[name] = append(f.lists[name], `"`+origin+`"`)
			default:
				return ""
			}
		}
		if len(fields) == 1 {
			f.lists[name] = []string{"self"} // an allowlist that is left out is that of the page itself
		}
	}
	if s := f.String(); s != "" {
		if again := readFeatures([]string{s}); again.err == nil {
			return s
		}
	}
	return ""
}
