package aggregate

import (
	"net/netip"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/mailauth/internal/provider"
)

// A Class is the classification of a source: legitimate, unlisted, forwarding, spoofing or unknown.
type Class string

const (
	Legitimate    Class = "legitimate" // its mail is authenticated by the domain or its organization
	Unlisted      Class = "unlisted"   // probably the domain's own, not authenticated
	Forwarding    Class = "forwarding" // it passes on what others sent
	Spoofing      Class = "spoofing"   // there is evidence that it forges
	UnknownSource Class = "unknown"    // the report does not tell
)

// Values lists the classes.
func (Class) Values() []string {
	return kit.Values(Legitimate, Unlisted, Forwarding, Spoofing, UnknownSource)
}

// A Reason is the rule that classified a source: foreign_domain, spf_aligned, known_forwarder, forwarding_override,
// mail_gateway, service_signed, dkim_survived, signature_of_another_source, dkim_aligned, known_service, mailbox_relay,
// hosting_provider, related_domain, contradiction, broken_signature, unrelated_domain, not_checked, no_results,
// own_name, shared_network, same_days, spf_denied, forged_return_path, scattered, unauthenticated or no_messages.
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
	ReasonBrokenSignature Reason = "broken_signature"
	ReasonUnrelatedDomain Reason = "unrelated_domain"
	ReasonNotChecked      Reason = "not_checked"
	ReasonNoResults       Reason = "no_results"
	ReasonOwnName         Reason = "own_name"
	ReasonNetwork         Reason = "shared_network"
	ReasonSameDays        Reason = "same_days"
	ReasonSPFDenied       Reason = "spf_denied"
	ReasonForgedPath      Reason = "forged_return_path"
	ReasonScattered       Reason = "scattered"
	ReasonUnauthenticated Reason = "unauthenticated"
	ReasonNoMessages      Reason = "no_messages"
)

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
		"run there, or someone else's.",
	ReasonMailboxRelay:  "It is a mailbox provider, and nothing in its messages passes, as after forwarding.",
	ReasonRelated:       "Its messages are authenticated by a domain of the same organization that is not aligned.",
	ReasonContradiction: "The receiver's evaluation contradicts its own results.",
	ReasonBrokenSignature: "Its messages carry signatures of the domain that do not verify, as after a change by a " +
		"mailing list.",
	ReasonUnrelatedDomain: "Its messages are authenticated by a domain that has nothing to do with yours: a service " +
		"that is not set up, a forwarder, or someone else.",
	ReasonNotChecked: "The receiver could not evaluate SPF or DKIM of the domain for its messages.",
	ReasonNoResults:  "Its messages fail, and the report does not say in defined words what DKIM and SPF found.",
	ReasonOwnName:    "Nothing in its messages is authenticated, but its name in reverse DNS is one of the domain.",
	ReasonNetwork:    "Nothing in its messages is authenticated, but it is in the same network as a source that passes.",
	ReasonSameDays: "Nothing in its messages is authenticated, but its volume rises and falls with that of the mail " +
		"that passes.",
	ReasonSPFDenied: "The SPF record of the domain says that it may not send, and it does not sign as the domain's own " +
		"mail does.",
	ReasonForgedPath: "Its messages name a return path whose owner does not let it send, and are not signed as the " +
		"domain's own mail is.",
	ReasonScattered: "It is one of many sources in as many networks that send a few messages each, unlike the domain's " +
		"own mail, which is signed.",
	ReasonUnauthenticated: "Nothing in its messages is authenticated, and nothing shows whose they are: a server that " +
		"nobody listed and a forger look alike.",
	ReasonNoMessages: "The report counts no message of it.",
}

// Values lists the reasons.
func (Reason) Values() []string {
	return kit.Values(ReasonForeignDomain, ReasonSPF, ReasonForwarder, ReasonOverride, ReasonGateway,
		ReasonServiceSigned, ReasonDKIMSurvived, ReasonSharedSignature, ReasonDKIM, ReasonService, ReasonMailboxRelay,
		ReasonHosting, ReasonRelated, ReasonContradiction, ReasonBrokenSignature, ReasonUnrelatedDomain, ReasonNotChecked,
		ReasonNoResults, ReasonOwnName, ReasonNetwork, ReasonSameDays, ReasonSPFDenied, ReasonForgedPath, ReasonScattered,
		ReasonUnauthenticated, ReasonNoMessages)
}

// classify classifies a source. The first rule that applies decides.
func (c *collector) classify(t *tally) (Class, Reason) {
	if class, reason, known := c.classifyByMessages(t); known {
		return class, reason
	}
	has := func(s traits) bool { return t.traits&s != 0 }
	switch network := networkOf(t.ip, 24, 48); {
	case has(traitOwnName):
		return Unlisted, ReasonOwnName
	case c.networks[network]:
		return Unlisted, ReasonNetwork
	case has(traitSameDays):
		return Unlisted, ReasonSameDays
	case !c.signsMail(): // forwarded mail of the domain would look as forged mail does
		return UnknownSource, ReasonUnauthenticated
	case has(traitSPFDenied):
		return Spoofing, ReasonSPFDenied
	case has(traitForgedPath):
		return Spoofing, ReasonForgedPath
	case c.scattered && t.messages <= scatteredMessages:
		return Spoofing, ReasonScattered
	}
	return UnknownSource, ReasonUnauthenticated
}

// classifyByMessages classifies a source by its own messages, if they allow that.
func (c *collector) classifyByMessages(t *tally) (class Class, reason Reason, known bool) {
	has := func(s traits) bool { return t.traits&s != 0 }
	class, known = UnknownSource, true
	switch {
	case t.messages == 0:
		reason = ReasonNoMessages
	case has(traitForeignFrom) && !has(traitCoveredFrom):
		reason = ReasonForeignDomain
	case has(traitSPF):
		class, reason = Legitimate, ReasonSPF
	case 2*t.overridden > t.messages:
		class, reason = Forwarding, ReasonOverride
	case t.service != nil && t.service.Category == provider.Gateway && !isHealthy(t.messages-t.pass, t.messages):
		reason = ReasonGateway // they are outbound as often as inbound
	case t.service != nil && t.service.Category.Relays():
		class, reason = Forwarding, ReasonForwarder
	case has(traitDKIM | traitDKIMForeignSPF):
		class, reason = c.classifySigned(t)
	case t.service != nil:
		class, reason = classifyService(t)
	case has(traitRelated):
		class, reason = Legitimate, ReasonRelated
	case has(traitContradiction):
		reason = ReasonContradiction
	case has(traitBrokenSignature) && c.directSelectors[t.selectors[1]] && has(traitForeign):
		class, reason = Forwarding, ReasonBrokenSignature
	case has(traitForeign):
		reason = ReasonUnrelatedDomain
	// a forger would hardly know the selector
	case has(traitBrokenSignature) && (c.directSelectors[t.selectors[1]] || len(c.directSelectors) == 0):
		reason = ReasonBrokenSignature
	case has(traitNotChecked):
		reason = ReasonNotChecked
	case has(traitNoResults):
		reason = ReasonNoResults
	default:
		return "", "", false
	}
	return class, reason, known
}

// classifySigned classifies a source whose messages have signatures of the domain that pass, while SPF does not pass
// for the domain. Only senders permitted by the owner sign with a key of the domain: the source is a service of the
// owner, or forwards what such a service sent; then the report mostly has the same selector from an address that SPF
// authorizes. Mailboxes send with the owner's return path, so other mail from them was forwarded.
func (c *collector) classifySigned(t *tally) (Class, Reason) {
	switch {
	case t.service != nil && !t.service.Category.Hosts():
		return Legitimate, ReasonServiceSigned
	case c.directSelectors[t.selectors[0]] && t.traits&traitDKIM != 0, t.service != nil && t.traits&traitDKIM != 0:
		return Forwarding, ReasonDKIMSurvived
	case c.directSelectors[t.selectors[0]]:
		return Forwarding, ReasonSharedSignature
	}
	return Legitimate, ReasonDKIM
}

// classifyService classifies a known service without aligned messages. A mailbox provider that is known by its address
// alone, and signed nothing, forwards what came to one of its mailboxes. For a web host that is uncertain: the owner's
// own website may send from there.
func classifyService(t *tally) (Class, Reason) {
	switch {
	case t.service.Category == provider.Hosting && t.basis() == provider.BasisPTR:
		return UnknownSource, ReasonHosting
	case t.service.Category.Hosts() && t.basis() == provider.BasisPTR:
		return Forwarding, ReasonMailboxRelay
	}
	return Unlisted, ReasonService
}

const (
	// minSignedPercent is the share of passing mail with a valid signature where all servers sign: some signatures
	// break.
	minSignedPercent = 95
	// Forged mail that is sent by a botnet comes from many networks, a few messages from each. Servers of one owner
	// are in a few networks; those of forwarders pass on signatures.
	scatteredNetworks = 20
	scatteredMessages = 10
)

// signsMail reports whether the domain's own mail is signed, so that mail without a signature of the domain is not its
// own forwarded mail. If nothing passes at all, nothing is forwarded.
func (c *collector) signsMail() bool {
	return c.totals.DKIMAlignedCount*100 >= c.totals.PassCount*minSignedPercent
}

func (c *collector) surveyNetworks() {
	c.networks = map[netip.Prefix]bool{}
	others := map[netip.Prefix]bool{}
	for t := range c.tallies.all() {
		switch class, _, known := c.classifyByMessages(t); {
		case !t.ip.IsValid():
		case class == Legitimate && t.pass > 0 && len(c.networks) < maxDistinctNames:
			c.networks[networkOf(t.ip, 24, 48)] = true
		case !known && t.messages <= scatteredMessages && len(others) < scatteredNetworks:
			others[networkOf(t.ip, 16, 32)] = true
		}
	}
	c.scattered = len(others) == scatteredNetworks
}

// networkOf returns the network of an address, of so many bits by family; of no address the zero Prefix.
func networkOf(ip netip.Addr, v4, v6 int) netip.Prefix {
	bits := v6
	if ip.Is4() {
		bits = v4
	}
	network, _ := ip.Prefix(bits)
	return network
}
