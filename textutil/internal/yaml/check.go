package yaml

import (
	"crypto/sha256"
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// Keys are the keys of a mapping, or the names of an object, so far. The first few are compared one by one, which is
// faster than a map.
type Keys struct {
	list  [8]string
	index map[string]bool
	count int
}

// Add adds a key. It reports false if it is there already.
func (k *Keys) Add(key string) bool {
	switch n := len(k.list); {
	case k.index[key] || slices.Contains(k.list[:min(k.count, n)], key):
		return false
	case k.count < n:
		k.list[k.count] = key
	case k.index == nil:
		k.index = map[string]bool{key: true}
	default:
		k.index[key] = true
	}
	k.count++
	return true
}

// A checker holds documents to the model (YAML 1.2.2 section 3.2.1).
type checker struct {
	*Stream
	digests map[*Node]string // of collections that are keys, or lie in one
}

// Check returns a [SyntaxError] if a mapping has two equal keys, or if a tag does not fit its node. Keys are
// equal if their tags and contents are by the core schema, however they are written (YAML 1.2.2 section 3.2.1.3).
func (s *Stream) Check() error {
	c := &checker{Stream: s, digests: map[*Node]string{}}
	for _, doc := range s.Documents {
		if err := c.check(doc.Root); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) check(n *Node) error {
	if n.props != nil && n.props.tag != "" {
		if err := c.checkTag(n); err != nil {
			return err
		}
	}
	for child := n.First(); child != nil; child = child.next {
		if err := c.check(child); err != nil {
			return err
		}
	}
	if c.Aliases && n.kind != Scalar && n.Anchor() != "" {
		c.digest(n) // so that a chain of aliases need not be followed to its end at once
	}
	if n.kind == Mapping {
		return c.checkKeys(n)
	}
	return nil
}

// kinds are those of the nodes that the tags of YAML's own are for (YAML 1.2.2 section 10.1, and
// https://yaml.org/type/).
var kinds = map[string]Kind{
	"map": Mapping, "set": Mapping,
	"seq": Sequence, "omap": Sequence, "pairs": Sequence,
	"str": Scalar, "null": Scalar, "bool": Scalar, "int": Scalar, "float": Scalar,
	"binary": Scalar, "timestamp": Scalar, "merge": Scalar, "value": Scalar,
}

var kindNames = map[Kind]string{Mapping: "mapping", Sequence: "sequence", Scalar: "scalar"}

// checkTag refuses a node whose kind or text does not fit its tag.
func (c *checker) checkTag(n *Node) error {
	core, ok := strings.CutPrefix(n.props.tag, coreTag)
	if !ok {
		return nil
	}
	if kind, known := kinds[core]; known && kind != n.kind {
		return &SyntaxError{int(n.begin()), fmt.Sprintf("the tag !!%s is for a %s, and this is a %s",
			core, kindNames[kind], kindNames[n.kind])}
	}
	if n.kind != Scalar {
		return nil
	}
	if _, text, ok := c.Resolve(n); !ok {
		return &SyntaxError{int(n.begin()), fmt.Sprintf("the text %.40q does not fit the tag !!%s; remove the tag, or "+
			"write a value of its type", text, core)}
	}
	return nil
}

// checkKeys refuses a mapping with two equal keys.
func (c *checker) checkKeys(n *Node) error {
	var keys Keys
	for key := n.first; key != nil; key = key.next.next {
		if !keys.Add(c.canonical(key.Target())) {
			line, column := Position(c.Text, int(c.sameKey(n, key).begin()))
			return &SyntaxError{int(key.begin()), fmt.Sprintf("the mapping has the key %s already, in line %d, column %d; "+
				"keep one of them", c.keyName(key.Target()), line, column)}
		}
	}
	return nil
}

// sameKey returns the first key of a mapping that is equal to another of its keys.
func (c *checker) sameKey(n, other *Node) *Node {
	want := c.canonical(other.Target())
	key := n.first
	for c.canonical(key.Target()) != want {
		key = key.next.next
	}
	return key
}

// keyName returns how a message calls a key.
func (c *checker) keyName(key *Node) string {
	if key.kind != Scalar {
		return fmt.Sprintf("%.40q", c.raw(key))
	}
	_, text, _ := c.Resolve(key)
	return fmt.Sprintf("%.40q", text)
}

// canonical returns a text that two nodes have in common if they are equal, and only then. That of a plain
// string is the string: others begin with a byte that no text has.
func (c *checker) canonical(n *Node) string {
	if n.kind != Scalar {
		return c.digest(n)
	}
	t, text, _ := c.Resolve(n)
	switch tag := n.Tag(); {
	case t == Int && text == "-0":
		return "\xffi0"
	case t == Int:
		return "\xffi" + text
	case t == Float:
		return "\xfff" + canonicalFloat(text)
	case t != String:
		return "\xff" + string(rune('0'+t)) + text
	case tag == "" || tag == "!" || tag == coreTag+"str":
		return text
	default:
		return "\xfft" + tag + "\xff" + text
	}
}

// canonicalFloat returns a decimal number as digits without zeros at either end, and the power of ten that they are
// multiplied with.
func canonicalFloat(text string) string {
	unsigned, negative := strings.CutPrefix(text, "-")
	whole, fraction, exponent := NumberParts(unsigned)
	fraction = strings.TrimPrefix(fraction, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	trimmed := strings.TrimRight(digits, "0")
	if trimmed == "" {
		return "0"
	}
	power := new(big.Int)
	if exponent != "" && len(exponent) <= maxRadixDigits {
		power.SetString(strings.TrimPrefix(exponent[1:], "+"), 10)
	} else if exponent != "" {
		return text // numbers of this size are not written in two ways
	}
	power.Add(power, big.NewInt(int64(len(digits)-len(trimmed)-len(fraction))))
	if negative {
		trimmed = "-" + trimmed
	}
	return trimmed + "e" + power.String()
}

// digest returns a short text that equal collections have in common, however large they are with their aliases
// expanded.
func (c *checker) digest(n *Node) string {
	if known, ok := c.digests[n]; ok {
		return known
	}
	tag := n.Tag()
	if tag == "" || tag == "!" {
		tag = coreTag + map[Kind]string{Mapping: "map", Sequence: "seq"}[n.kind]
	}
	var parts []string
	for child := n.first; child != nil; child = child.next {
		part := c.canonical(child.Target())
		if n.kind == Mapping {
			child = child.next
			part = fmt.Sprintf("%d %s%s", len(part), part, c.canonical(child.Target()))
		}
		parts = append(parts, part)
	}
	if n.kind == Mapping {
		slices.Sort(parts) // the order of pairs does not matter
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n", tag)
	for _, part := range parts {
		fmt.Fprintf(sum, "%d %s", len(part), part)
	}
	c.digests[n] = "\xffc" + string(sum.Sum(nil))
	return c.digests[n]
}
