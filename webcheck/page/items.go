package page

import (
	"strings"
)

// startJSONLD reads a block of JSON-LD at its end.
func (r *reader) startJSONLD(e *element) {
	r.capture(e, maxJSONLD+1, func(c *capture) {
		r.Counts.JSONLD++
		s := jsonLD(c.String())
		if !s.Valid {
			r.Counts.JSONLDInvalid++
		}
		r.item(s)
	})
}

func (r *reader) item(s Structured) {
	size := 200
	for _, t := range s.Types {
		size += len(t)
	}
	keep(r, &r.Structured, maxStructured, size, s)
}

// attributes takes what any element may have: items of microdata and RDFa, styles, handlers.
func (r *reader) attributes(e *element) {
	var scope, prop, typed bool
	var itemType, rdfa string
	for i := range e.attrs {
		a := &e.attrs[i]
		switch {
		case a.Key == "itemscope":
			scope = true
		case a.Key == "itemprop":
			prop = true
		case a.Key == "itemtype":
			itemType = a.Val
		case a.Key == "typeof":
			typed, rdfa = true, a.Val
		case a.Key == "style" && strings.IndexByte(a.Val, '(') >= 0:
			r.styles(e.name, clip(a.Val, MaxValue))
		case len(a.Key) > 3 && a.Key[0] == 'o' && a.Key[1] == 'n':
			r.Counts.InlineHandlers++
		}
	}
	if scope && !prop { // html.spec.whatwg.org section 5.2.2: a top-level item
		s := Structured{Format: "microdata", Types: types(itemType), Valid: itemType != ""}
		if !s.Valid {
			s.Error = "it has no itemtype"
		}
		r.item(s)
	}
	if typed && strings.TrimSpace(rdfa) != "" {
		r.item(Structured{Format: "rdfa", Types: types(rdfa), Valid: true})
	}
}

// types splits a list of types.
func types(s string) []string {
	list := []string{}
	for t := range strings.FieldsSeq(clip(s, MaxValue)) {
		if len(list) < maxTypes {
			list = append(list, shortType(t))
		}
	}
	return list
}
