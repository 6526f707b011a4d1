package aggregate

import "github.com/diagkit/diagkit/mailauth/provider"

// A Class says what a source is.
type Class string

// The classes.
const (
	Legitimate Class = "legitimate" // it sends for the domain, though perhaps not as it should
	Forwarding Class = "forwarding" // it passes on what others sent
	Spoofing   Class = "spoofing"   // it uses the domain without anything that speaks for it
	Unclear    Class = "unknown"    // the report does not tell
)

// Values lists the classes.
func (Class) Values() []string {
	return []string{string(Legitimate), string(Forwarding), string(Spoofing), string(Unclear)}
}

// A Reason is the rule that classified a source.
type Reason string

// The reasons, in the order in which they are tried.
const (
	ReasonForeignDomain   Reason = "foreign_domain"
	ReasonSPF             Reason = "spf_aligned"
	ReasonForwarder       Reason = "known_forwarder"
	ReasonOverride        Reason = "forwarding_override"
	ReasonGateway         Reason = "mail_gateway"
	ReasonServiceSigned   Reason = "service_signed"
	ReasonDKIMSurvived    Reason = "dkim_survived"
	ReasonSharedSignature Reason = "signature_of_another_source"
	ReasonDKIM            Reason = "dkim_aligned"
	ReasonService         Reason = "known_service"
	ReasonMailboxRelay    Reason = "mailbox_relay"
	ReasonHosting         Reason = "hosting_provider"
	ReasonRelated         Reason = "related_domain"
	ReasonContradiction   Reason = "contradiction"
	ReasonBroken          Reason = "broken_signature"
	ReasonStranger        Reason = "unrelated_domain"
	ReasonNotChecked      Reason = "not_checked"
	ReasonNoResults       Reason = "no_results"
	ReasonUncompared      Reason = "nothing_to_compare"
	ReasonNothing         Reason = "unauthenticated"
	ReasonNoMessages      Reason = "no_messages"
)

// explanations are the reasons in sentences.
var explanations = map[Reason]string{
	ReasonForeignDomain: "Its messages name a domain in the From field that the report is not about.",
	ReasonSPF:           "The SPF record of the domain authorizes it.",
	ReasonForwarder:     "It is known for passing on the mail of others.",
	ReasonOverride:      "The receiver says that most of its messages were forwarded or came over a mailing list.",
	ReasonGateway: "It is a mail gateway that much of the mail fails at: one that your own mail leaves through, or " +
		"one that a recipient's mail arrives through.",
	ReasonServiceSigned: "It is a sending service that signs with a key of the domain.",
	ReasonDKIMSurvived: "Signatures of the domain pass, but SPF does not, as after forwarding. It may also be a " +
		"server that the SPF record lacks.",
	ReasonSharedSignature: "It passes on signatures that servers of the domain made, with a return path of its own.",
	ReasonDKIM:            "It signs with a key of the domain.",
	ReasonService:         "It is a known sending service that is not set up to pass DMARC for the domain.",
	ReasonHosting: "It is a server of a hosting provider, and nothing in its messages passes: a website of yours may " +
		"run there, or somebody else's.",
	ReasonMailboxRelay:  "It is a mailbox provider, and nothing in its messages passes, as after forwarding.",
	ReasonRelated:       "Its messages are authenticated by a domain of the same organization that is not aligned.",
	ReasonContradiction: "The receiver's evaluation contradicts its own results.",
	ReasonBroken: "Its messages carry signatures of the domain that do not verify, as after a change by a mailing " +
		"list.",
	ReasonStranger: "Its messages are authenticated by a domain that has nothing to do with yours: a service " +
		"that is not set up, a forwarder, or somebody else.",
	ReasonNotChecked: "The receiver could not evaluate SPF or DKIM of the domain for its messages.",
	ReasonNoResults:  "Its messages fail, and the report does not say in defined words what DKIM and SPF found.",
	ReasonUncompared: "Nothing in its messages is authenticated, but nor is any other mail in the report, and the " +
		"policy is not enforced: it may be your own mail that is not set up yet.",
	ReasonNothing:    "Nothing in its messages is authenticated, and it is no known service.",
	ReasonNoMessages: "The report counts no message of it.",
}

// Values lists the reasons.
func (Reason) Values() []string {
	return []string{
		string(ReasonForeignDomain), string(ReasonSPF), string(ReasonForwarder), string(ReasonOverride),
		string(ReasonGateway), string(ReasonUncompared), string(ReasonServiceSigned), string(ReasonDKIMSurvived),
		string(ReasonSharedSignature), string(ReasonDKIM), string(ReasonService), string(ReasonMailboxRelay),
		string(ReasonHosting), string(ReasonRelated), string(ReasonContradiction),
		string(ReasonBroken), string(ReasonStranger), string(ReasonNotChecked), string(ReasonNoResults),
		string(ReasonNothing), string(ReasonNoMessages),
	}
}

// classify says what a source is. The first rule that applies decides.
func (c *collector) classify(t *tally) (Class, Reason) {
	saw := func(s signs) bool { return t.seen&s != 0 }
	switch {
	case t.messages == 0:
		return Unclear, ReasonNoMessages
	case saw(sawForeignFrom) && !saw(sawCovered):
		return Unclear, ReasonForeignDomain
	case saw(sawSPF):
		return Legitimate, ReasonSPF
	case 2*t.overridden > t.messages:
		return Forwarding, ReasonOverride
	case t.service != nil && t.service.Category == provider.Gateway && !healthy(t.messages-t.pass, t.messages):
		return Unclear, ReasonGateway // they stand on the way out as often as on the way in
	case t.service != nil && t.service.Category.Relays():
		return Forwarding, ReasonForwarder
	case saw(sawDKIM | sawDKIMElse):
		return c.classifySigned(t)
	case t.service != nil:
		return classifyService(t)
	case saw(sawRelated):
		return Legitimate, ReasonRelated
	case saw(sawContradiction):
		return Unclear, ReasonContradiction
	case saw(sawBroken) && c.direct[t.selectors[1]] && saw(sawStranger):
		return Forwarding, ReasonBroken
	case saw(sawStranger):
		return Unclear, ReasonStranger
	case saw(sawBroken) && (c.direct[t.selectors[1]] || len(c.direct) == 0): // a forger would hardly know the selector
		return Unclear, ReasonBroken
	case saw(sawError):
		return Unclear, ReasonNotChecked
	case saw(sawNoResults):
		return Unclear, ReasonNoResults
	case c.totals.PassCount == 0 && !c.enforced && !saw(sawDenied):
		return Unclear, ReasonUncompared
	}
	return Spoofing, ReasonNothing
}

// classifySigned classifies a source whose messages have signatures of the domain that pass, while SPF does not
// pass for the domain. Nobody signs with a key of the domain whom its owner did not let: it is a service of the
// owner, or somebody passes on what such a service sent: then the report mostly has the same selector from an
// address that SPF authorizes. Mailboxes send with the owner's return path, so what comes from them otherwise was
// forwarded.
func (c *collector) classifySigned(t *tally) (Class, Reason) {
	switch {
	case t.service != nil && !t.service.Category.Hosts():
		return Legitimate, ReasonServiceSigned
	case c.direct[t.selectors[0]] && t.seen&sawDKIM != 0, t.service != nil && t.seen&sawDKIM != 0:
		return Forwarding, ReasonDKIMSurvived
	case c.direct[t.selectors[0]]:
		return Forwarding, ReasonSharedSignature
	}
	return Legitimate, ReasonDKIM
}

// classifyService classifies a known service of whose messages none is aligned. A mailbox provider that is known
// by its address alone, and signed nothing, passes on what came to one of its mailboxes. Of a web host that is not
// known: the owner's own website may send from there.
func classifyService(t *tally) (Class, Reason) {
	switch {
	case t.service.Category == provider.Hosting && t.basis() == provider.BasisPTR:
		return Unclear, ReasonHosting
	case t.service.Category.Hosts() && t.basis() == provider.BasisPTR:
		return Forwarding, ReasonMailboxRelay
	}
	return Legitimate, ReasonService
}
