package dmarc

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/internal/taglist"
)

// correct returns the record as it should be written: everything that can be fixed without asking the owner is fixed.
// It keeps every destination of reports, and requests nothing stricter than what receivers apply today, so that a
// correction never causes loss of mail. It is empty if unknown, or if nothing needs correction.
func (e *evidence) correct() string {
	texts := e.sources()
	if len(texts) == 0 || e.aliased() {
		return ""
	}
	d, ok := repair(texts[0])
	for _, text := range texts[1:] {
		more, readable := repair(text)
		ok = ok && readable
		d = mergeDrafts(d, more)
	}
	if !ok {
		strict := func(text string) bool { return strictWord().MatchString(text) }
		e.latentPolicy = e.policiesInForce().Domain == policy.None && slices.ContainsFunc(texts, strict)
		return ""
	}
	if _, has := d.Get("p"); !has {
		d.Set("p", string(policy.None))
	}
	if value, _ := d.Get("p"); d[1].Tag != "p" {
		d.SetFirst(1, "p", value) // RFC 7489 section 6.4
	}
	meant := d.String()
	limitPolicies(&d, e.policiesInForce())
	e.latentPolicy = d.String() != meant
	if p, _ := d.Get("p"); p == string(policy.None) && e.location != "" {
		if _, asked := d.Get("rua"); !asked && !e.mayHaveMailbox() {
			return "" // a record that neither protects nor reports
		} else if !asked {
			d.Set("rua", e.mailbox())
		}
	}
	if psd, _ := d.Get("psd"); !e.offline && suffix(e) && len(e.found.Records) == 0 && psd != string(policy.IsPSD) {
		return "" // it would apply to all registrants of names below it (RFC 9989 section 4.10.2)
	}
	if len(e.found.Records) == 1 && d.String() == e.found.Records[0] {
		return ""
	}
	return complete(d)
}

// complete prints a draft without the tags that no receiver knows; empty if that is not valid.
func complete(d policy.Draft) string {
	d = slices.DeleteFunc(d, func(s policy.Setting) bool { return !isKnownTag(strings.ToLower(s.Tag)) })
	if value, ok := d.Get("p"); ok {
		d.SetFirst(1, "p", value) // RFC 7489 section 6.4
	}
	if s := d.String(); isValidText(s) {
		return s
	}
	return ""
}

// mayHaveMailbox reports whether a mailbox for reports may be at the domain of the record, as far as is known.
func (e *evidence) mayHaveMailbox() bool {
	receives, known := e.mail.Receives()
	return e.offline || !e.inherited() && (receives || !known)
}

// sources are the texts that make up what the owner meant.
func (e *evidence) sources() []string {
	texts := e.found.Sources(&e.elsewhere)
	elsewhere := len(texts) > 0 && len(e.found.Records)+len(e.found.Strays) == 0
	if e.inherited() || elsewhere || len(e.found.Records) > 1 {
		return texts
	}
	return slices.Concat(texts, e.fragments)
}

// policiesInForce returns the policies that receivers apply now, but for t and pct.
func (e *evidence) policiesInForce() policy.Policies {
	switch {
	case tagRules.HasOne(e) && len(e.record.Repeated()) > 0: // receivers that still use it use the first of two tags
		r := policy.Parse(policy.DraftOf(&e.record.List).String())
		return r.Reading(policy.RFC9989).Requested
	case !e.reading.Usable:
		return policy.Policies{Domain: policy.None, Subdomain: policy.None, Nonexistent: policy.None}
	case e.inherited() && e.location != e.own.Domain && len(e.own.Found.Records) > 0:
		p := e.applied(e.reading.Requested)
		return policy.Policies{Domain: p, Subdomain: p, Nonexistent: p}
	default:
		return e.reading.Requested
	}
}

// limitPolicies lowers the policies of a draft to those that are applied today.
func limitPolicies(d *policy.Draft, today policy.Policies) {
	for _, one := range []struct {
		tag  string
		of   func(policy.Policies) policy.Policy
		most policy.Policy
	}{
		{"p", func(p policy.Policies) policy.Policy { return p.Domain }, today.Domain},
		{"sp", func(p policy.Policies) policy.Policy { return p.Subdomain }, today.Subdomain},
		{"np", func(p policy.Policies) policy.Policy { return p.Nonexistent }, today.Nonexistent},
	} {
		r := policy.Parse(d.String())
		if one.of(r.Reading(policy.RFC9989).Requested).Level() > one.most.Level() {
			d.Set(one.tag, string(one.most))
		}
	}
}

func isValidText(text string) bool {
	e := evidence{offline: true, found: policy.Format.Read(text)}
	r := policy.Read(e.found.List)
	e.record, e.reading = &r, r.Reading(policy.RFC9989)
	return e.valid()
}

// The forms in which the version and the tags of broken records are written.
var (
	zoneFileLine = kit.Regexp(`(?i)^\s*\S+\s+(?:[0-9]+[smhdw]?\s+)?(?:IN\s+)?TXT\s+`)
	versionLike  = kit.Regexp(`(?i)^\s*(?:v(?:ersion)?\s*[=:]*\s*)?dmarc[\s_-]*v?1?(?:[\s,.:]+|$|\b)`)
	strictWord   = kit.Regexp(`(?i)reject|quarantine`)
	tagInside    = kit.Regexp(`(?i)[\s,]+(?:` + strings.Join(tags, "|") + `)\s*=`)
)

func repair(text string) (d policy.Draft, ok bool) {
	d = policy.Draft{{Tag: "v", Value: policy.Format.Version}}
	last := ""
	for _, piece := range splitTags(policy.RestoreColons(text)) {
		piece = strings.TrimRight(piece, " ,")
		name, value, ok := strings.Cut(piece, "=")
		name, value = normalizeName(name), strings.TrimSpace(value)
		if !ok && (last == "rua" || last == "ruf") && strings.Contains(piece, "@") {
			name, value = last, piece // a semicolon instead of a comma
		} else if !ok && isKnownTag(strings.ToLower(piece)) {
			continue // a tag without a value has no effect
		} else if word, rest, found := strings.Cut(piece, ":"); !ok && found && isKnownTag(intendedTag(normalizeName(word))) {
			name, value = normalizeName(word), strings.TrimSpace(rest)
		} else if !ok {
			return nil, false
		}
		last = intendedTag(name)
		if !assign(&d, last, value) {
			return nil, false
		}
	}
	return d, true
}

var tags = kit.Map(policy.Format.Tags, func(d taglist.Definition) string { return d.Name })

func normalizeName(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

func isKnownTag(name string) bool { return slices.Contains(tags, name) }

// splitTags splits a text into its tags, without the version, whatever separates them.
func splitTags(text string) []string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\'':
			return -1
		case unicode.IsSpace(r):
			return ' '
		case r == '；':
			return ';'
		}
		return r
	}, text)
	return taglist.Pieces(zoneFileLine().ReplaceAllString(text, ""), versionLike(), tagInside())
}

func intendedTag(name string) string {
	if name == "policy" {
		return "p"
	}
	return cmp.Or(phrase.Nearest(name, tags...), name)
}

// assign sets a tag of a draft, if its value is valid; an invalid one has no effect today, and is left out. Of
// duplicate policies it keeps the mildest, of duplicate lists all parts. It reports false if something would be lost:
// a destination that cannot be parsed, or a text that is not a tag.
func assign(d *policy.Draft, name, value string) bool {
	lower := strings.ToLower(value)
	before, repeated := d.Get(name)
	switch name {
	case "v":
		return strings.Contains(lower, "dmarc")
	case "rf", "ri": // RFC 9989 has neither
	case "p", "sp", "np":
		p := policy.Policy(lower)
		if slices.Contains(p.Values(), lower) && (!repeated || p.Level() < policy.Policy(before).Level()) {
			d.Set(name, lower)
		}
	case "rua", "ruf":
		list, ok := policy.RestoreURIs(value)
		if repeated {
			list = append(strings.Split(before, ","), list...)
		}
		if list = policy.UniqueURIs(list); len(list) > 0 {
			d.Set(name, strings.Join(list, ","))
		}
		return ok
	case "adkim", "aspf", "psd", "t", "fo", "pct":
		if r := policy.Parse("v=DMARC1; p=none; " + name + "=" + lower); !repeated && hasNoFaults(&r) {
			d.Set(name, lower)
		} else if name == "fo" && !repeated && hasFault(&r, policy.Contradicted) {
			d.Set(name, strings.Join(slices.DeleteFunc(r.FailureOptions, func(o string) bool { return o == "0" }), ":"))
		}
		if lower == "100" {
			d.Remove("pct")
		}
	default:
		if !policy.Format.ValidName(name) {
			return false
		}
		if !repeated {
			d.Set(name, value)
		}
	}
	return true
}

func hasNoFaults(r *policy.Record) bool { return len(r.List.Faults) == 0 }

func hasFault(r *policy.Record, k taglist.Kind) bool {
	return slices.ContainsFunc(r.List.Faults, func(f taglist.Fault) bool { return f.Kind == k })
}

func mergeDrafts(d, more policy.Draft) policy.Draft {
	for _, s := range more {
		if s.Tag != "psd" { // it moves the organizational domain, and needs a thought of its own
			assign(&d, s.Tag, s.Value)
		}
	}
	return d
}

// recordWith returns the record with tags set, given as pairs with their values, corrected in all else; empty if
// that is not valid.
func (e *evidence) recordWith(tags ...string) string {
	d, ok := repair(e.found.List.Text)
	if !ok || e.aliased() {
		return ""
	}
	for pair := range slices.Chunk(tags, 2) {
		d.Set(pair[0], pair[1])
	}
	return complete(d)
}
