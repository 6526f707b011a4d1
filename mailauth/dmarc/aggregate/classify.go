package aggregate

import (
	"net/netip"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/mailauth/internal/provider"
)

// A Class is the classification of a source: legitimate, unlisted, forwarding, spoofing or unknown.
type Class string

const (
	legitimate    Class = "legitimate" // its mail is authenticated by the domain or its organization
	unlisted      Class = "unlisted"   // probably the domain's own, not authenticated
	forwarding    Class = "forwarding" // it passes on what others sent
	spoofing      Class = "spoofing"   // there is evidence that it forges
	unknownSource Class = "unknown"    // the report does not tell
)

// Values lists the classes.
func (Class) Values() []string {
	return kit.Values(legitimate, unlisted, forwarding, spoofing, unknownSource)
}

// A Reason is the rule that classified a source: foreign_domain, spf_aligned, known_forwarder, forwarding_override,
// mail_gateway, service_signed, dkim_survived, signature_of_another_source, dkim_aligned, known_service, mailbox_relay,
// hosting_provider, related_domain, contradiction, broken_signature, unrelated_domain, not_checked, no_results,
// own_name, shared_network, same_days, spf_denied, forged_return_path, scattered, unauthenticated or no_messages.
type Reason string

// The reasons, in the order in which they are tried.
const (
	reasonForeignDomain   Reason = "foreign_domain"
	reasonSPF             Reason = "spf_aligned"
	reasonForwarder       Reason = "known_forwarder"
	reasonOverride        Reason = "forwarding_override"
	reasonGateway         Reason = "mail_gateway"
	reasonServiceSigned   Reason = "service_signed"
	reasonDKIMSurvived    Reason = "dkim_survived"
	reasonSharedSignature Reason = "signature_of_another_source"
	reasonDKIM            Reason = "dkim_aligned"
	reasonService         Reason = "known_service"
	reasonMailboxRelay    Reason = "mailbox_relay"
	reasonHosting         Reason = "hosting_provider"
	reasonRelated         Reason = "related_domain"
	reasonContradiction   Reason = "contradiction"
	reasonBrokenSignature Reason = "broken_signature"
	reasonUnrelatedDomain Reason = "unrelated_domain"
	reasonNotChecked      Reason = "not_checked"
	reasonNoResults       Reason = "no_results"
	reasonOwnName         Reason = "own_name"
	reasonNetwork         Reason = "shared_network"
	reasonSameDays        Reason = "same_days"
	reasonSPFDenied       Reason = "spf_denied"
	reasonForgedPath      Reason = "forged_return_path"
	reasonScattered       Reason = "scattered"
	reasonUnauthenticated Reason = "unauthenticated"
	reasonNoMessages      Reason = "no_messages"
)

var explanations = map[Reason]string{
	reasonForeignDomain: "Its messages name a domain in the From field that the report is not about.",
	reasonSPF:           "The SPF record of the domain authorizes it.",
	reasonForwarder:     "It is known for passing on the mail of others.",
	reasonOverride:      "The receiver says that most of its messages were forwarded or came over a mailing list.",
	reasonGateway: "It is a mail gateway that much of the mail fails at: one that your own mail leaves through, or " +
		"one that a recipient's mail arrives through.",
	reasonServiceSigned: "It is a sending service that signs with a key of the domain.",
	reasonDKIMSurvived: "Signatures of the domain pass, but SPF does not, as after forwarding. It may also be a " +
		"server that the SPF record lacks.",
	reasonSharedSignature: "It passes on signatures that servers of the domain made, with a return path of its own.",
	reasonDKIM:            "It signs with a key of the domain.",
	reasonService:         "It is a known sending service that is not set up to pass DMARC for the domain.",
	reasonHosting: "It is a server of a hosting provider, and nothing in its messages passes: a website of yours may " +
		"run there, or someone else's.",
	reasonMailboxRelay:  "It is a mailbox provider, and nothing in its messages passes, as after forwarding.",
	reasonRelated:       "Its messages are authenticated by a domain of the same organization that is not aligned.",
	reasonContradiction: "The receiver's evaluation contradicts its own results.",
	reasonBrokenSignature: "Its messages carry signatures of the domain that do not verify, as after a change by a " +
		"mailing list.",
	reasonUnrelatedDomain: "Its messages are authenticated by a domain that has nothing to do with yours: a service " +
		"that is not set up, a forwarder, or someone else.",
	reasonNotChecked: "The receiver could not evaluate SPF or DKIM of the domain for its messages.",
	reasonNoResults:  "Its messages fail, and the report does not say in defined words what DKIM and SPF found.",
	reasonOwnName:    "Nothing in its messages is authenticated, but its name in reverse DNS is one of the domain.",
	reasonNetwork:    "Nothing in its messages is authenticated, but it is in the same network as a source that passes.",
	reasonSameDays: "Nothing in its messages is authenticated, but its volume rises and falls with that of the mail " +
		"that passes.",
	reasonSPFDenied: "The SPF record of the domain says that it may not send, and it does not sign as the domain's own " +
		"mail does.",
	reasonForgedPath: "Its messages name a return path whose owner does not let it send, and are not signed as the " +
		"domain's own mail is.",
	reasonScattered: "It is one of many sources in as many networks that send a few messages each, unlike the domain's " +
		"own mail, which is signed.",
	reasonUnauthenticated: "Nothing in its messages is authenticated, and nothing shows whose they are: a server that " +
		"nobody listed and a forger look alike.",
	reasonNoMessages: "The report counts no message of it.",
}

// Values lists the reasons.
func (Reason) Values() []string {
	return kit.Values(reasonForeignDomain, reasonSPF, reasonForwarder, reasonOverride, reasonGateway,
		reasonServiceSigned, reasonDKIMSurvived, reasonSharedSignature, reasonDKIM, reasonService, reasonMailboxRelay,
		reasonHosting, reasonRelated, reasonContradiction, reasonBrokenSignature, reasonUnrelatedDomain, reasonNotChecked,
		reasonNoResults, reasonOwnName, reasonNetwork, reasonSameDays, reasonSPFDenied, reasonForgedPath, reasonScattered,
		reasonUnauthenticated, reasonNoMessages)
}

// classify classifies a source. The first rule that applies decides.
func (c *collector) classify(t *tally) (Class, Reason) {
	if class, reason, known := c.classifyByMessages(t); known {
		return class, reason
	}
	has := func(s traits) bool { return t.traits&s != 0 }
	switch network := networkOf(t.ip, 24, 48); {
	case has(traitOwnName):
		return unlisted, reasonOwnName
	case c.networks[network]:
		return unlisted, reasonNetwork
	case has(traitSameDays):
		return unlisted, reasonSameDays
	case !c.signsMail(): // forwarded mail of the domain would look as forged mail does
		return unknownSource, reasonUnauthenticated
	case has(traitSPFDenied):
		return spoofing, reasonSPFDenied
	case has(traitForgedPath):
		return spoofing, reasonForgedPath
	case c.scattered && t.messages <= scatteredMessages:
		return spoofing, reasonScattered
	}
	return unknownSource, reasonUnauthenticated
}

// classifyByMessages classifies a source by its own messages, if they allow that.
func (c *collector) classifyByMessages(t *tally) (class Class, reason Reason, known bool) {
	has := func(s traits) bool { return t.traits&s != 0 }
	class, known = unknownSource, true
	switch {
	case t.messages == 0:
		reason = reasonNoMessages
	case has(traitForeignFrom) && !has(traitCoveredFrom):
		reason = reasonForeignDomain
	case has(traitSPF):
		class, reason = legitimate, reasonSPF
	case 2*t.overridden > t.messages:
		class, reason = forwarding, reasonOverride
	case t.service != nil && t.service.Category == provider.Gateway && !isHealthy(t.messages-t.pass, t.messages):
		reason = reasonGateway // they are outbound as often as inbound
	case t.service != nil && t.service.Category.Relays():
		class, reason = forwarding, reasonForwarder
	case has(traitDKIM | traitDKIMForeignSPF):
		class, reason = c.classifySigned(t)
	case t.service != nil:
		class, reason = classifyService(t)
	case has(traitRelated):
		class, reason = legitimate, reasonRelated
	case has(traitContradiction):
		reason = reasonContradiction
	case has(traitBrokenSignature) && c.directSelectors[t.selectors[1]] && has(traitForeign):
		class, reason = forwarding, reasonBrokenSignature
	case has(traitForeign):
		reason = reasonUnrelatedDomain
	// a forger would hardly know the selector
	case has(traitBrokenSignature) && (c.directSelectors[t.selectors[1]] || len(c.directSelectors) == 0):
		reason = reasonBrokenSignature
	case has(traitNotChecked):
		reason = reasonNotChecked
	case has(traitNoResults):
		reason = reasonNoResults
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
		return legitimate, reasonServiceSigned
	case c.directSelectors[t.selectors[0]] && t.traits&traitDKIM != 0, t.service != nil && t.traits&traitDKIM != 0:
		return forwarding, reasonDKIMSurvived
	case c.directSelectors[t.selectors[0]]:
		return forwarding, reasonSharedSignature
	}
	return legitimate, reasonDKIM
}

// classifyService classifies a known service without aligned messages. A mailbox provider that is known by its address
// alone, and signed nothing, forwards what came to one of its mailboxes. For a web host that is uncertain: the owner's
// own website may send from there.
func classifyService(t *tally) (Class, Reason) {
	switch {
	case t.service.Category == provider.Hosting && t.basis() == provider.BasisPTR:
		return unknownSource, reasonHosting
	case t.service.Category.Hosts() && t.basis() == provider.BasisPTR:
		return forwarding, reasonMailboxRelay
	}
	return unlisted, reasonService
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
		case class == legitimate && t.pass > 0 && len(c.networks) < maxDistinctNames:
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
