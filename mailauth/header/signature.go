package header

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/mailauth/authres"
	"github.com/diagkit/diagkit/mailauth/message"
)

// maxSignatures bounds the signatures and seals that are read. Verifiers stop much earlier (RFC 6376 section 6.1).
const maxSignatures = 100

// A signature is a field DKIM-Signature.
type signature struct {
	Signature
	field *message.Field
	tags  map[string]string
}

// signs reports whether a field of this name is signed.
func (s *signature) signs(name string) bool {
	return slices.ContainsFunc(s.SignedHeaders, func(h string) bool { return strings.EqualFold(h, name) })
}

// readSignatures reads the fields DKIM-Signature.
func (e *evidence) readSignatures() {
	for _, f := range e.msg.All("DKIM-Signature") {
		if len(e.signatures) == maxSignatures {
			break
		}
		tags := tagsOf(f.Value())
		s := signature{field: f, tags: tags, Signature: Signature{
			Domain: canonical(tags["d"]), Selector: tags["s"], Algorithm: tags["a"],
			Canonicalization: tags["c"], Identity: tags["i"], SignedHeaders: []string{},
			Timestamp: unixTime(tags["t"]), ExpiresAt: unixTime(tags["x"]),
		}}
		if s.Canonicalization == "" {
			s.Canonicalization = "simple/simple" // RFC 6376 section 3.5
		}
		for name := range strings.SplitSeq(tags["h"], ":") {
			if name != "" && len(s.SignedHeaders) < maxSignedHeaders {
				s.SignedHeaders = append(s.SignedHeaders, clip(name, maxShown))
			}
		}
		if n, err := strconv.ParseInt(tags["l"], 10, 64); err == nil && n >= 0 {
			s.BodyLength = &n
		}
		if e.fromDomain != "" {
			s.Aligned = new(sameOrganization(s.Domain, e.fromDomain))
		}
		e.signatures = append(e.signatures, s)
	}
}

// maxSignedHeaders bounds the names of h= that are kept.
const maxSignedHeaders = 100

// tagsOf reads a list of tags (RFC 6376 section 3.2) without white space in the values. Of a tag that stands twice the
// first counts.
func tagsOf(value string) map[string]string {
	tags := map[string]string{}
	for spec := range strings.SplitSeq(value, ";") {
		name, v, ok := strings.Cut(spec, "=")
		name = strings.TrimSpace(name)
		if _, twice := tags[name]; ok && !twice && len(tags) < maxTags {
			tags[name] = strings.Join(strings.Fields(v), "")
		}
	}
	return tags
}

// maxTags bounds the tags of a signature; the RFC has thirteen.
const maxTags = 50

// unixTime reads seconds since 1970.
func unixTime(s string) *time.Time {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > maxUnix {
		return nil
	}
	return new(time.Unix(n, 0).UTC())
}

// maxUnix is the end of the year 9999, the last that RFC 3339 can write.
const maxUnix = 253402300799

// A chain is the sets of ARC.
type chain struct {
	sets  []arcSet // by instance
	loose int      // fields without a valid instance, and those of an instance that has one of the kind already
}

// An arcSet is the three fields of one instance (RFC 8617 section 3.9).
type arcSet struct {
	instance                 int
	seal, signature, results *message.Field
	tags                     map[string]string // of the seal
	header                   *authres.Header   // of the results
}

func (s *arcSet) complete() bool { return s.seal != nil && s.signature != nil && s.results != nil }

// maxInstance is the highest instance (RFC 8617 section 4.2.1).
const maxInstance = 50

// readChain collects the sets of ARC.
func (e *evidence) readChain() {
	sets := map[int]*arcSet{}
	set := func(instance int) *arcSet {
		if instance < 1 || instance > maxInstance {
			e.chain.loose++
			return &arcSet{}
		}
		if sets[instance] == nil {
			sets[instance] = &arcSet{instance: instance}
		}
		return sets[instance]
	}
	put := func(place **message.Field, f *message.Field) bool {
		if *place != nil {
			e.chain.loose++
			return false
		}
		*place = f
		return true
	}
	for i := range e.msg.Fields {
		switch f := &e.msg.Fields[i]; {
		case f.Is("ARC-Seal"):
			tags := tagsOf(f.Value())
			if s := set(number(tags["i"])); put(&s.seal, f) {
				s.tags = tags
			}
		case f.Is("ARC-Message-Signature"):
			put(&set(number(tagsOf(f.Value())["i"])).signature, f)
		case f.Is("ARC-Authentication-Results"):
			h, err := authres.ParseARC(f.Value())
			if err != nil {
				h = &authres.Header{}
			}
			if s := set(h.Instance); put(&s.results, f) {
				s.header = h
			}
		}
	}
	for i := 1; i <= maxInstance; i++ {
		if sets[i] != nil {
			e.chain.sets = append(e.chain.sets, *sets[i])
		}
	}
}

// number reads a number of tags; 0 if it is none.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// orderValid reports whether the instances run from 1 without gaps, and each set is complete (RFC 8617 section 5).
func (c *chain) orderValid() bool {
	for i := range c.sets {
		if c.sets[i].instance != i+1 || !c.sets[i].complete() {
			return false
		}
	}
	return c.loose == 0
}
