package svg

import (
	"slices"
	"strings"
	"unicode/utf8"
)

type binding struct{ prefix, namespace string }

func (v *validator) lookup(prefix string) (string, bool) {
	switch prefix {
	case "xml":
		return namespaceXML, true
	case "xmlns":
		return namespaceXMLNS, true
	}
	for _, b := range slices.Backward(v.names) {
		if b.prefix == prefix {
			return b.namespace, true
		}
	}
	return "", prefix == ""
}

func (v *validator) start(t token) bool {
	switch {
	case v.rootClosed:
		v.add(Syntax, t.offset, t.name, "", "A second element, %s, follows the end of the image.", clip(t.name))
		return false
	case len(v.stack) >= maxDepth:
		v.add(Limit, t.offset, t.name, "", "Elements are nested more than %d deep.", maxDepth)
		return false
	}
	o := openElement{name: t.name, names: len(v.names)}
	if !v.bind(t) {
		return false
	}
	prefix, local, ok := v.split(t.name, t.offset, t.name, "")
	namespace, known := v.lookup(prefix)
	o.local = local
	if ok && !known {
		v.add(Namespace, t.offset, t.name, "", "The prefix of the element %s is not declared.", clip(t.name))
	}
	if len(v.stack) == 0 {
		if !v.root(t, namespace, local) {
			return false
		}
		o.model = models()["svg"]
	} else {
		parent := v.top()
		o.hasForeignBase, o.transformed, o.fill = parent.hasForeignBase, parent.transformed, parent.fill
		o.notDrawn = parent.notDrawn || parent.local == "defs" || parent.model == nil
		o.model = v.child(t, namespace, local, known)
		v.top().children++
	}
	if prefix != "" && o.model != nil {
		v.add(Prefix, t.offset, t.name, "", "The element is written with a prefix, as %s.", clip(t.name))
	}
	v.attributes(t, &o)
	if o.model != nil {
		v.notice(t, &o)
	}
	v.stack = append(v.stack, o)
	if t.empty {
		v.pop()
	}
	return true
}

// bind brings the namespaces into scope that a tag declares (Namespaces in XML 1.0 section 3).
func (v *validator) bind(t token) bool {
	for _, a := range t.attrs {
		prefix, ok := strings.CutPrefix(a.name, "xmlns:")
		if !ok && a.name != "xmlns" {
			continue
		}
		if a.name == "xmlns" {
			prefix = ""
		}
		switch {
		case ok && !isNCName(prefix), ok && a.value == "",
			prefix == "xmlns", a.value == namespaceXMLNS,
			(prefix == "xml") != (a.value == namespaceXML):
			v.add(Namespace, a.offset, t.name, a.name, "The namespace declaration %s is not allowed.", clip(a.name))
		case prefix == "xml": // it is always declared
		case len(v.names) >= maxNamespaces:
			v.add(Limit, a.offset, t.name, a.name, "There are more than %d namespaces in scope.", maxNamespaces)
			return false
		default:
			v.names = append(v.names, binding{prefix, a.value})
		}
	}
	return true
}

func (v *validator) split(name string, offset int, element, attribute string) (prefix, local string, ok bool) {
	prefix, local, found := strings.Cut(name, ":")
	if !found {
		return "", name, true
	}
	if !isNCName(prefix) || !isNCName(local) {
		v.add(Namespace, offset, element, attribute, "The name %s has a colon where none is allowed.", clip(name))
		return "", name, false
	}
	return prefix, local, true
}

func (v *validator) root(t token, namespace, local string) bool {
	switch {
	case local != "svg":
		v.add(NotSVG, t.offset, t.name, "", "The root element is %s, not svg.", clip(t.name))
	case namespace == "" && v.document.Counts[Entity] > 0: // an entity may expand to the namespace; it is a fault already
		v.names = append(v.names, binding{"", namespaceSVG})
		return true
	case namespace == "":
		v.add(NotSVG, t.offset, t.name, "xmlns", "The svg element does not declare the namespace of SVG.")
	case namespace != namespaceSVG:
		v.add(NotSVG, t.offset, t.name, "xmlns", "The svg element is in the namespace %s, not in that of SVG.",
			clip(namespace))
	default:
		return true
	}
	return false
}

// child judges an element inside of the root by its name and its place. It returns the model by which its attributes
// are judged, or nil if the element has no place in the profile.
func (v *validator) child(t token, namespace, local string, known bool) *model {
	parent := v.top()
	m := models()[local]
	switch {
	case namespace != namespaceSVG:
		if known {
			v.foreign(t, namespace, local)
		}
		return nil
	case m == nil:
		k := banned()[local]
		if k == "" {
			k = Element
		}
		// The children of a forbidden element are not reported as well, unless they are dangerous.
		if parent.model != nil || k.forbidden() != "" && banned()[parent.local] != k {
			v.add(k, t.offset, t.name, "", "The element %s is not part of SVG Tiny PS.", clip(t.name))
		}
		return nil
	case parent.model == nil:
		return m
	case local == "title" && parent.local == "svg":
		v.title(t, parent)
	case !parent.model.children[local]:
		v.misplaced(t, local, parent)
	}
	return m
}

func (v *validator) title(t token, parent *openElement) {
	switch {
	case v.document.HasTitle:
		v.add(Placement, t.offset, t.name, "", "There is more than one title.")
	case parent.children > 0:
		v.add(Placement, t.offset, t.name, "", "The title is not the first element of the image.")
	}
}

func (v *validator) misplaced(t token, local string, parent *openElement) {
	why := places[local]
	if why != "" {
		why = ": " + why
	}
	v.add(Placement, t.offset, t.name, "", "The element %s is not allowed in %s%s.", clip(t.name), clip(parent.name), why)
}

const namespaceXHTML = "http://www.w3.org/1999/xhtml"

func (v *validator) foreign(t token, namespace, local string) {
	k := EditorData
	switch {
	case strings.EqualFold(local, "script"):
		k = Script
	case v.top().model == nil: // reported with its parent
		return
	case namespace == namespaceXHTML:
		k = ForeignContent
	}
	if namespace == "" {
		v.add(k, t.offset, t.name, "", "The element %s is in no namespace.", clip(t.name))
		return
	}
	v.add(k, t.offset, t.name, "", "The element %s is not SVG but of the namespace %s.", clip(t.name), clip(namespace))
}

// isNameStart is NameStartChar (XML 1.0 section 2.3).
func isNameStart(c rune) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '_', c == ':':
		return true
	case c < 0xC0:
		return false
	}
	for _, r := range [][2]rune{
		{0xC0, 0xD6}, {0xD8, 0xF6}, {0xF8, 0x2FF}, {0x370, 0x37D}, {0x37F, 0x1FFF}, {0x200C, 0x200D}, {0x2070, 0x218F},
		{0x2C00, 0x2FEF}, {0x3001, 0xD7FF}, {0xF900, 0xFDCF}, {0xFDF0, 0xFFFD}, {0x10000, 0xEFFFF},
	} {
		if r[0] <= c && c <= r[1] {
			return true
		}
	}
	return false
}

// isNameChar is NameChar (XML 1.0 section 2.3).
func isNameChar(c rune) bool {
	return isNameStart(c) || '0' <= c && c <= '9' || c == '-' || c == '.' || c == 0xB7 || 0x300 <= c && c <= 0x36F ||
		0x203F <= c && c <= 0x2040
}

func isName(s string) bool {
	first, _ := utf8.DecodeRuneInString(s)
	return isNameStart(first) && isNmtoken(s)
}

// isNCName reports whether s is a name without a colon (Namespaces in XML 1.0 section 3).
func isNCName(s string) bool { return isName(s) && !strings.Contains(s, ":") }

func isNmtoken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool { return !isNameChar(c) })
}

const maxClip = 60
