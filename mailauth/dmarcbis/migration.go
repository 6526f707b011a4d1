package dmarcbis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/internal/taglist"
)

// An Action is the change to a tag: keep, remove, replace or add.
type Action string

// The actions.
const (
	Keep    Action = "keep"
	Remove  Action = "remove"
	Replace Action = "replace"
	Add     Action = "add"
)

// Values lists the actions.
func (Action) Values() []string { return kit.Values(Keep, Remove, Replace, Add) }

// A Change is the change to one tag, and its reason.
type Change struct {
	Tag       string `json:"tag" doc:"name of the tag; empty for what is no tag"`
	Action    Action `json:"action" doc:"what becomes of it"`
	Before    string `json:"before,omitempty" doc:"value in the original record"`
	After     string `json:"after,omitempty" doc:"value in the migrated record"`
	Reason    string `json:"reason" doc:"why: a sentence"`
	Reference string `json:"reference" doc:"where that is written: RFC and section"`
}

const (
	refFormat  = "RFC 9989 section 4.7"
	refSyntax  = "RFC 9989 section 4.8"
	refPolicy  = "RFC 9989 section 4.10.1"
	refPercent = "RFC 9989 appendix A.6"
	refRemoved = "RFC 9989 appendix C.5.2"
	refTagList = "RFC 6376 section 3.2"
	refOrder   = "RFC 7489 section 6.4"
)

// A migration is a record on its way from RFC 7489 to RFC 9989.
type migration struct {
	before    policy.Record // as receivers read it
	separated taglist.List  // with the semicolons that are missing between its tags
	draft     policy.Draft
	notes     map[string]note // by name of the tag, in lower case
	removals  []Change        // parts that are not tags, and repeated tags
}

type note struct{ reason, reference string }

// migrate rewrites a record so that RFC 9989 alone explains it, and the same mail is treated the same. Where that is
// not possible, it errs to the side on which no message is treated worse.
func migrate(before policy.Record, np policy.Policy, psd policy.PSD) *migration {
	m := &migration{
		before: before, separated: withSemicolons(before.List), draft: policy.DraftOf(&before.List), notes: map[string]note{},
	}
	m.noteNonTags()
	m.noteHiddenTags()
	m.repeats()
	m.percentage()
	m.removed()
	m.policies()
	m.flags()
	m.destinations("rua")
	m.destinations("ruf")
	m.options()
	m.requested(np, psd)
	m.order()
	return m
}

func (m *migration) set(tag, value, reference, reason string) {
	m.draft.Set(tag, value)
	m.notes[tag] = note{reason, reference}
}

func (m *migration) remove(tag, reference, reason string) {
	m.draft.Remove(tag)
	m.notes[tag] = note{reason, reference}
}

func (m *migration) addRemoval(tag, before, reference, reason string) {
	m.removals = append(m.removals, Change{tag, Remove, phrase.Quote(before), "", reason, reference})
}

// withSemicolons reads the record with the semicolons that are missing between its tags.
func withSemicolons(l taglist.List) taglist.List {
	for range len(policy.Format.Tags) {
		text := l.Text
		for _, f := range slices.Backward(l.Faults) {
			if f.Kind == taglist.MissingSemicolon {
				text = text[:f.Offset] + "; " + text[f.Offset:]
			}
		}
		if text == l.Text {
			break
		}
		l = policy.Format.Parse(text)
	}
	return l
}

// noteNonTags records text that is not a tag, and removes unknown tags with values that no tag can have.
func (m *migration) noteNonTags() {
	l := &m.before.List
	for _, f := range l.Faults {
		switch part := l.Text[f.Offset:min(len(l.Text), f.Offset+f.Length)]; f.Kind {
		case taglist.NoEquals, taglist.BadName:
			m.addRemoval("", part, refSyntax, "This part is not a tag with a value, so that receivers ignore it.")
		case taglist.Empty:
			m.addRemoval("", ";", refSyntax, "There is nothing between two semicolons.")
		}
	}
	for _, t := range l.Extensions() {
		broken := func(f taglist.Fault) bool {
			return (f.Kind == taglist.BadValue || f.Kind == taglist.MissingSemicolon) && t.Offset <= f.Offset &&
				f.Offset < t.Offset+t.Length
		}
		if slices.ContainsFunc(l.Faults, broken) {
			m.remove(strings.ToLower(t.Name), refSyntax, "DMARC does not define the tag, and its value is not valid.")
		}
	}
}

// noteHiddenTags records tags that receivers do not see because the semicolon in front of them is missing: they have no
// effect. Addresses among them are kept, see destinations.
func (m *migration) noteHiddenTags() {
	for _, t := range m.separated.Tags {
		if name := strings.ToLower(t.Name); !m.before.Has(name) && !slices.Contains(addresses, name) {
			m.addRemoval(name, t.Value, refSyntax,
				"A semicolon is missing in front of the tag, so that receivers do not see it and it has no effect.")
		}
	}
}

var addresses = []string{"rua", "ruf"}

// repeats keeps one of the tags that appear twice. Which of them receivers use is not defined; of policies the
// mildest does no harm, and addresses are all kept.
func (m *migration) repeats() {
	for _, t := range m.before.List.Tags {
		if !t.Repeated {
			continue
		}
		name := strings.ToLower(t.Name)
		m.addRemoval(name, t.Value, refTagList, "A record in which a tag appears twice is not valid.")
		kept, _ := m.draft.Get(name)
		mild := policy.Policy(strings.ToLower(t.Value))
		if strings.HasSuffix(name, "p") && slices.Contains(mild.Values(), string(mild)) &&
			mild.Level() < policy.Policy(strings.ToLower(kept)).Level() {
			m.set(name, string(mild), refTagList, "Of the values that the record has for the tag, the mildest does no harm.")
		}
	}
}

// percentage replaces policies for a share of the mail by the lower ones, which held for the rest of it: receivers of
// RFC 7489 ignore t, and would apply the policies in full.
func (m *migration) percentage() {
	if !m.before.Has("pct") {
		return
	}
	switch pct := m.before.Percentage; {
	case pct == 100:
		m.remove("pct", refPercent, "RFC 9989 has no pct; without it the policy applies to all mail, as it did.")
	case !appliesPartially(&m.before):
		m.remove("pct", refPercent, "RFC 9989 has no pct, and it had no effect: the policy asks for nothing.")
	case hasTestingFlag(&m.before) && !m.before.Testing: // t=n: receivers of RFC 9989 apply the policy in full already
	default:
		m.remove("pct", refPercent, "RFC 9989 has no pct, and nothing else by which a policy holds for a share of the mail.")
		if m.before.Testing {
			m.remove("t", refPercent, "The policy is the lower one now, which t=y asked for.")
		}
		for _, tag := range []string{"p", "sp", "np"} {
			old, ok := m.draft.Get(tag)
			p := policy.Policy(strings.ToLower(old))
			if ok && p.Level() > 0 {
				m.set(tag, string(p.Lowered()), refPercent,
					fmt.Sprintf("With pct=%d the policy held for %d percent of the mail, and "+
						"this one for the rest. Receivers of both standards apply it to all, so that no message is treated worse.",
						pct, pct))
			}
		}
	}
}

func appliesPartially(r *policy.Record) bool {
	return r.Percentage < policy.DefaultPercentage &&
		r.Policy.Level()+r.SubdomainPolicy.Level()+r.NonexistentSubdomainPolicy.Level() > 0
}

// removed removes the other tags that RFC 9989 does not have.
func (m *migration) removed() {
	if m.before.Has("rf") {
		m.remove("rf", refRemoved, "RFC 9989 has no rf: there is only one format of failure reports.")
	}
	if m.before.Has("ri") {
		m.remove("ri", refRemoved, "RFC 9989 has no ri: aggregate reports are sent daily.")
	}
}

func (m *migration) policies() {
	without := ""
	switch {
	case !m.before.Has("p"):
		without = "Without p receivers act as if p=none were there."
	case m.before.Policy == "":
		without = "The value of p is not a policy, and receivers act as if p=none were there."
	case m.before.Has("sp") && m.before.SubdomainPolicy == "":
		without = "The value of sp is not a policy, and receivers act as if p=none were there."
	case m.before.Has("np") && m.before.NonexistentSubdomainPolicy == "":
		without = "The value of np is not a policy, and receivers act as if p=none were there."
	default:
		return
	}
	m.set("p", string(policy.None), refPolicy, without)
	for _, tag := range []string{"sp", "np", "pct"} {
		if _, ok := m.draft.Get(tag); ok {
			m.remove(tag, refPolicy, "Receivers act as if the record said only p=none, so that the tag has no effect.")
		}
	}
}

func (m *migration) flags() {
	for _, f := range m.before.List.Faults {
		if f.Kind != policy.BadAlignment && f.Kind != policy.BadFlag {
			continue
		}
		for _, t := range m.before.List.Tags {
			name := strings.ToLower(t.Name)
			if _, ok := m.draft.Get(name); ok && t.ValueOffset == f.Offset && !t.Repeated && m.notes[name] == (note{}) {
				m.remove(name, refSyntax, fmt.Sprintf("Its value %q is not valid, and receivers use the default.",
					phrase.Quote(t.Value)))
			}
		}
	}
}

// destinations keeps all addresses of rua or ruf, wherever in the record, without the size limits that RFC 9989 does
// not have.
func (m *migration) destinations(tag string) {
	var written, kept, reasons []string
	for _, t := range m.separated.Tags {
		if strings.EqualFold(t.Name, tag) {
			written = append(written, splitList(t.Value)...)
		}
	}
	if len(written) == 0 {
		return
	}
	keep := func(uri string) {
		if !slices.Contains(kept, uri) {
			kept = append(kept, uri)
		}
	}
	for _, part := range written {
		u := policy.ParseURI(part)
		switch bare := policy.ParseURI("mailto:" + u.URI); {
		case u.Valid() && u.HasSizeLimit:
			reasons = append(reasons, "RFC 9989 has no size limits, and reporters ignore them.")
			keep(u.URI)
		case u.Valid():
			keep(u.URI)
		case u.Scheme == "" && bare.Valid():
			reasons = append(reasons, "An address needs mailto: in front of it, or no report is sent there.")
			keep(bare.URI)
		default:
			reasons = append(reasons, fmt.Sprintf("%q %s, so that no report is sent there.", phrase.Quote(u.Text), u.Problem()))
		}
	}
	value, seen := m.draft.Get(tag)
	slices.Sort(reasons)
	reason := strings.Join(slices.Compact(reasons), " ")
	switch all := strings.Join(kept, ","); {
	case len(kept) == 0:
		m.remove(tag, refSyntax, reason)
	case !seen:
		m.set(tag, all, refSyntax, "A semicolon is missing in front of the tag, so that receivers do not see it.")
	case !slices.Equal(splitList(value), kept):
		m.set(tag, all, refSyntax, cmp.Or(reason, "Each address is named once, with nothing but commas between them."))
	}
}

func splitList(value string) []string { return kit.Map(strings.Split(value, ","), strings.TrimSpace) }

func (m *migration) options() {
	value, ok := m.draft.Get("fo")
	if !ok {
		return
	}
	options := m.before.FailureOptions
	option := func(f taglist.Fault) bool { return f.Kind == policy.BadOption }
	switch bad := slices.ContainsFunc(m.before.List.Faults, option); {
	case bad:
		m.remove("fo", refFormat, "Its value is not valid, and receivers use the default.")
	case slices.Contains(options, "0") && slices.Contains(options, "1"):
		rest := slices.DeleteFunc(slices.Clone(options), func(o string) bool { return o == "0" })
		m.set("fo", strings.Join(rest, ":"), refFormat, "0 and 1 exclude each other; 1 asks for all reports that 0 asks for.")
	case strings.Count(value, ":")+1 != len(options):
		m.set("fo", strings.Join(options, ":"), refSyntax, "Each option may appear once.")
	}
}

func (m *migration) requested(np policy.Policy, psd policy.PSD) {
	if old, _ := m.draft.Get("np"); np != "" && !strings.EqualFold(old, string(np)) {
		m.set("np", string(np), refFormat, "This policy for subdomains that do not exist was asked for.")
	}
	old, _ := m.draft.Get("psd")
	switch declared := cmp.Or(strings.ToLower(old), string(policy.Undeclared)); {
	case psd == "" || declared == string(psd):
	case psd == policy.Undeclared:
		m.remove("psd", refFormat, "The declaration was asked to be taken back.")
	default:
		m.set("psd", string(psd), refFormat, "This declaration was asked for.")
	}
}

// order moves p behind the version, where all receivers find it.
func (m *migration) order() {
	if len(m.draft) > 1 && !strings.EqualFold(m.draft[1].Tag, "p") {
		if p, ok := m.draft.Get("p"); ok {
			m.draft.SetFirst(1, "p", p)
			if m.notes["p"] == (note{}) {
				m.notes["p"] = note{"Receivers that follow RFC 7489 look for p directly after the version.", refOrder}
			}
		}
	}
}

// changes lists what was done with each tag, in the order of the original, and then what is new.
func (m *migration) changes() []Change {
	var list []Change
	original := policy.DraftOf(&m.before.List)
	for _, s := range original {
		name := strings.ToLower(s.Tag)
		c := Change{Tag: name, Action: Keep, Before: s.Value}
		after, ok := m.draft.Get(s.Tag)
		n, noted := m.notes[name]
		switch {
		case !ok:
			c.Action = Remove
		case after != s.Value || noted && name == "p":
			c.Action, c.After = Replace, after
		default:
			c.After, n = after, keptNote(name)
		}
		c.Reason, c.Reference = n.reason, n.reference
		list = append(list, c)
	}
	list = append(list, m.removals...)
	for _, s := range m.draft {
		if _, ok := original.Get(s.Tag); !ok {
			name := strings.ToLower(s.Tag)
			n := m.notes[name]
			list = append(list, Change{Tag: name, Action: Add, After: s.Value, Reason: n.reason, Reference: n.reference})
		}
	}
	for i := range list {
		list[i].Before = strings.ToValidUTF8(list[i].Before, "\uFFFD")
		list[i].After = strings.ToValidUTF8(list[i].After, "\uFFFD")
	}
	return list
}

func keptNote(name string) note {
	if slices.ContainsFunc(policy.Format.Tags, func(d taglist.Definition) bool { return d.Name == name }) {
		return note{"RFC 9989 has the tag with the same meaning.", refFormat}
	}
	return note{"DMARC does not define the tag, and receivers ignore it.", refFormat}
}
