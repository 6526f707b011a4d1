package svg

import (
	"cmp"
	"strings"

	"github.com/diagkit/diagkit/diag/phrase"
)

func (v *validator) attributes(t token, o *openElement) {
	has := map[string]attr{}
	for _, a := range t.attrs {
		if a.name == "xmlns" || strings.HasPrefix(a.name, "xmlns:") {
			continue
		}
		key, ok := v.key(a, t)
		if !ok {
			continue
		}
		if _, twice := has[key]; twice {
			v.add(Namespace, a.offset, t.name, a.name, "The attribute %s appears twice, with two prefixes for one namespace.",
				clip(a.name))
			continue
		}
		has[key] = a
		if o.model == nil {
			v.dangerous(a, key, t)
			if key == "id" || key == "xml:id" {
				v.identify(a)
			}
			continue
		}
		v.attribute(a, key, t, o)
	}
	_, id := has["id"]
	if _, both := has["xml:id"]; id && both && o.model != nil {
		v.add(Attribute, t.offset, t.name, "xml:id", "The element %s has both id and xml:id.", clip(t.name))
	}
	if o.model == nil {
		return
	}
	if base, ok := has["xml:base"]; ok {
		o.hasForeignBase = strings.Trim(base.value, white) != ""
	}
	v.references(t, o, has)
	if len(v.stack) == 0 {
		v.rootAttributes(t, has)
	}
}

// key returns the name by which the profile knows an attribute; not ok if it is of another namespace.
func (v *validator) key(a attr, t token) (string, bool) {
	prefix, local, ok := v.split(a.name, a.offset, t.name, a.name)
	if !ok || prefix == "" {
		return a.name, ok
	}
	namespace, known := v.lookup(prefix)
	switch {
	case !known:
		v.add(Namespace, a.offset, t.name, a.name, "The prefix of the attribute %s is not declared.", clip(a.name))
		return "", false
	case namespace == namespaceXML:
		return "xml:" + local, true
	case namespace == namespaceXLink:
		return "xlink:" + local, true
	case len(v.stack) == 0 || v.top().model != nil:
		v.add(EditorData, a.offset, t.name, a.name, "The attribute %s of %s is of the namespace %s.",
			clip(a.name), clip(t.name), clip(namespace))
	}
	return "", false
}

// dangerous judges an attribute by its name and value alone, and reports whether it found it to be a danger.
func (v *validator) dangerous(a attr, key string, t token) bool {
	value := strings.Trim(a.value, white)
	switch {
	case len(key) > 2 && strings.EqualFold(key[:2], "on") && !strings.Contains(key, ":"):
		v.add(EventHandler, a.offset, t.name, a.name, "The attribute %s of %s runs a script.", clip(a.name), clip(t.name))
	case hasPrefixFold(value, "javascript:"), hasPrefixFold(value, "vbscript:"):
		v.add(Script, a.offset, t.name, a.name, "The attribute %s of %s is a script.", clip(a.name), clip(t.name))
	case (key == "href" || key == "xlink:href" || key == "src") && !strings.HasPrefix(value, "#") &&
		!hasOwnPurpose(t, value):
		v.add(External, a.offset, t.name, a.name, "The attribute %s of %s refers to another document, %s.",
			clip(a.name), clip(t.name), clip(a.value))
	default:
		return false
	}
	return true
}

// hasOwnPurpose reports whether the element alone determines the purpose of its URI: a link, or an embedded raster
// image.
func hasOwnPurpose(t token, value string) bool {
	_, local, found := strings.Cut(t.name, ":")
	if !found {
		local = t.name
	}
	return banned()[local] == Link || banned()[local] == RasterImage && hasPrefixFold(value, "data:")
}

func (v *validator) identify(a attr) {
	if v.ids == nil {
		v.ids = map[string]bool{}
	}
	v.ids[strings.Trim(a.value, white)] = true
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

func (v *validator) attribute(a attr, key string, t token, o *openElement) {
	if v.dangerous(a, key, t) {
		return
	}
	kind, ok := o.model.attrs[key]
	if !ok {
		v.add(cmp.Or(bannedAttrs()[key], Attribute), a.offset, t.name, a.name,
			"The attribute %s is not allowed on %s.", clip(a.name), clip(t.name))
		return
	}
	switch {
	case key == "version" && collapse(a.value) != "1.2":
		v.add(Version, a.offset, t.name, a.name, "The version is %s, not 1.2.", quoted(a.value))
	case key == "baseProfile" && collapse(a.value) != "tiny-ps":
		v.add(Profile, a.offset, t.name, a.name, "The baseProfile is %s, not tiny-ps.", quoted(a.value))
	case kind.strict != nil && !kind.strict(a.value):
		v.add(Value, a.offset, t.name, a.name, "The value of %s on %s is %s, not %s.",
			clip(a.name), clip(t.name), quoted(a.value), kind.wanted)
	case kind.understood != nil && !kind.understood(a.value):
		v.add(Malformed, a.offset, t.name, a.name, "The value of %s on %s is %s, not %s.",
			clip(a.name), clip(t.name), quoted(a.value), kind.wanted)
	}
	v.external(a, t)
	switch key {
	case "id", "xml:id":
		v.identify(a)
	case "xml:base":
		v.add(Base, a.offset, t.name, a.name, "The element %s sets xml:base to %s.", clip(t.name), quoted(a.value))
	case "fill":
		o.fill = collapse(a.value)
	case "transform":
		o.transformed = true
	}
}

func quoted(s string) string {
	if strings.Trim(s, white) == "" {
		return "empty"
	}
	return phrase.Quote(clip(collapse(s)))
}

func (v *validator) external(a attr, t token) {
	for rest := a.value; ; {
		i := indexURL(rest)
		if i < 0 {
			return
		}
		target, after, _ := strings.Cut(rest[i+len("url("):], ")")
		if target = strings.Trim(target, white+`"'`); target != "" && target[0] != '#' {
			v.add(ExternalValue, a.offset, t.name, a.name, "The value of %s on %s refers to another document, %s.",
				clip(a.name), clip(t.name), clip(target))
			return
		}
		rest = after
	}
}

func indexURL(s string) int {
	for i := range len(s) - 3 {
		if s[i+3] == '(' && strings.EqualFold(s[i:i+3], "url") {
			return i
		}
	}
	return -1
}

// references records the references of an element within the document. With xml:base they lead out of it.
func (v *validator) references(t token, o *openElement, has map[string]attr) {
	for _, name := range []string{"fill", "stroke", "xlink:href"} {
		a, ok := has[name]
		if _, allowed := o.model.attrs[name]; !ok || !allowed {
			continue
		}
		target := a.value
		if name != "xlink:href" {
			target, _, _ = reference(a.value)
		}
		id, local := strings.CutPrefix(strings.Trim(target, white), "#")
		switch {
		case !local:
		case o.hasForeignBase:
			v.add(ExternalValue, a.offset, t.name, a.name,
				"The reference #%s on %s leads to another document, because of xml:base.", clip(id), clip(t.name))
		default:
			v.refs = append(v.refs, localRef{id, t.name, a.name, a.offset})
		}
	}
}
