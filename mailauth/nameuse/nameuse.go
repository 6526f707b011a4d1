// Package nameuse classifies a DNS name and its use: call [Of] with everything that is known about it.
//
//	name := nameuse.Of(nameuse.Evidence{Name: "www.example.com", Organization: "example.com", …})
//	fmt.Println(name.Kind, name.Receives.Answer, name.Forgeable.Because)
//
// # Why
//
// Records are judged one by one, but their combined meaning depends on the kind of name. An address without an MX
// record makes an organizational domain its own implicit mail server (RFC 5321 section 5.1), while at a web host it
// is not a mail server at all. A missing DMARC record leaves an organization unprotected, while a host below one
// inherits its policy (RFC 9989 section 4.10). At an alias nothing can be published (RFC 1034 section 3.6.2). So code
// that combines diagnostics decides this once, and derives its headline, consequences and first steps from the
// answer.
//
// # Answers
//
// Each answer is yes, no or unknown, with its reason. Unknown is not no: a port that our own network may block proves
// nothing, and a record is not missing only because no server answered. [Of] is a pure function: the same evidence
// gives the same name.
package nameuse

import (
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/mailauth/internal/reception"
	"github.com/diagkit/diagkit/mailauth/smtpcheck"
	"github.com/diagkit/diagkit/mailauth/spf"
)

// An Answer is yes, no or unknown.
type Answer string

// The answers.
const (
	Yes     Answer = "yes"
	No      Answer = "no"
	Unknown Answer = "unknown"
)

// Values lists the answers.
func (Answer) Values() []string { return kit.Values(Yes, No, Unknown) }

// Know returns yes or no.
func Know(is bool) Answer {
	if is {
		return Yes
	}
	return No
}

// A Kind is the kind of a name in the DNS.
type Kind string

// The kinds, in the order in which they are tried.
const (
	Reserved     Kind = "reserved"      // for special use (RFC 6761): no name can be registered there
	PublicSuffix Kind = "public_suffix" // others register names below it
	Alias        Kind = "alias"         // a CNAME: its records are those of another name
	Delegated    Kind = "delegated"     // a zone of its own below an organization
	Organization Kind = "organization"  // a registered domain
	Host         Kind = "host"          // a name below an organization
)

// Values lists the kinds.
func (Kind) Values() []string {
	return kit.Values(Reserved, PublicSuffix, Alias, Delegated, Organization, Host)
}

// A Policy is the treatment that receivers give mail that fails DMARC.
type Policy string

// The policies.
const (
	PolicyUnknown    Policy = "unknown" // the name servers did not answer
	PolicyNone       Policy = "none"    // no action, also without a usable record
	PolicyQuarantine Policy = "quarantine"
	PolicyReject     Policy = "reject"
)

// Values lists the policies.
func (Policy) Values() []string {
	return kit.Values(PolicyNone, PolicyQuarantine, PolicyReject, PolicyUnknown)
}

// Enforced reports whether failing mail is kept from the inbox.
func (p Policy) Enforced() bool { return p == PolicyQuarantine || p == PolicyReject }

// A Mode is the extent to which senders apply an MTA-STS policy.
type Mode string

// The modes.
const (
	ModeUnknown Mode = "unknown"
	ModeNone    Mode = "none" // no policy is in force
	ModeTesting Mode = "testing"
	ModeEnforce Mode = "enforce"
)

// Values lists the modes.
func (Mode) Values() []string { return kit.Values(ModeNone, ModeTesting, ModeEnforce, ModeUnknown) }

// Evidence is everything that is known about a name. The zero value of each field means unknown.
type Evidence struct {
	Name         string
	Organization string // the organizational domain (RFC 9989 section 4.10); empty if unknown
	AliasOf      string // the target of a CNAME record
	Suffix       bool   // the name is a public suffix
	Special      bool   // the name is reserved for special use
	Cut          bool   // the name is the apex of a zone

	Route   reception.Route   // where mail for the name goes according to the DNS
	Service smtpcheck.Service // whether mail is accepted there

	SPF       spf.Audience
	SPFRecord Answer // whether there is an SPF record
	SPFBroken bool   // every evaluation ends in permerror, so no host passes

	Key     Answer // whether a usable DKIM key was found; No: none at the selectors that were tried
	NoKeys  bool   // there can be no key at another selector either
	KeyOpen bool   // anyone can sign with a published key

	DMARC       Policy // the policy that receivers apply to mail of the name
	DMARCFrom   string // the domain with that record; empty without a record
	DMARCSample int    // percent of failing mail to which they apply it, where that is below 100

	MTASTS Mode
	DANE   Answer // whether senders that validate DNSSEC must use the TLSA records of a mail server

	Web        Answer // whether there is a website
	WebBecause string
}

// A Claim is an answer with its reason.
type Claim struct {
	Answer  Answer `json:"answer" doc:"yes, no or unknown"`
	Because string `json:"because" doc:"the reason, in a sentence"`
}

// InForce are the policies that receivers and senders apply today.
type InForce struct {
	DMARC     Policy       `json:"dmarc" doc:"what receivers do with mail of the name that fails DMARC"`
	DMARCFrom string       `json:"dmarc_from,omitempty" doc:"domain whose record that is; absent if none applies"`
	SPF       spf.Audience `json:"spf" doc:"whom SPF lets pass"`
	MTASTS    Mode         `json:"mta_sts" doc:"how far senders follow an MTA-STS policy"`
	DANE      Answer       `json:"dane" doc:"whether DANE makes senders verify the mail servers"`
}

// A Name is the classification of a name and its use.
type Name struct {
	Kind         Kind    `json:"kind" doc:"what the name is in the DNS"`
	Organization string  `json:"organization,omitempty" doc:"the organizational domain; absent if it is not known"`
	AliasOf      string  `json:"alias_of,omitempty" doc:"the name that a CNAME record leads to"`
	Receives     Claim   `json:"receives" doc:"whether mail is received"`
	Sends        Claim   `json:"sends" doc:"whether mail is sent"`
	Web          Claim   `json:"web" doc:"whether there is a website"`
	InForce      InForce `json:"in_force" doc:"policies that others follow today"`
	Forgeable    Claim   `json:"forgeable" doc:"whether a stranger's message with the name in From is delivered by receivers that follow DMARC and SPF"`

	own Claim // whether mail of the name itself is refused by its own policy
}

// Of classifies a name.
func Of(e Evidence) Name {
	n := Name{Kind: e.kind(), Organization: e.Organization, AliasOf: e.AliasOf,
		Receives: e.receives(), Sends: e.sends(), Web: e.web(), Forgeable: e.forgeable(), own: e.ownRefused(),
		InForce: InForce{e.DMARC, e.DMARCFrom, e.SPF, e.MTASTS, e.DANE},
	}
	f := &n.InForce
	if f.DMARC == "" {
		f.DMARC = PolicyUnknown
	}
	if f.SPF == "" {
		f.SPF = spf.Unknown
	}
	if f.MTASTS == "" {
		f.MTASTS = ModeUnknown
	}
	if f.DANE == "" {
		f.DANE = Unknown
	}
	return n
}

func (e *Evidence) kind() Kind {
	switch {
	case e.Special:
		return Reserved
	case e.Suffix:
		return PublicSuffix
	case e.AliasOf != "":
		return Alias
	case e.Organization == "" || strings.EqualFold(e.Organization, e.Name):
		return Organization
	case e.Cut:
		return Delegated
	}
	return Host
}

func yes(because string) Claim     { return Claim{Yes, because} }
func no(because string) Claim      { return Claim{No, because} }
func unknown(because string) Claim { return Claim{Unknown, because} }

func (e *Evidence) receives() Claim {
	switch e.Route {
	case reception.RouteHosts:
		return yes("It has MX records.")
	case reception.RouteNull:
		return no("It has a null MX.")
	case reception.RouteNone:
		return no("It has neither an MX record nor an address.")
	case reception.RouteImplicit:
		switch {
		case e.Service == smtpcheck.ServiceOffered:
			return yes("It has no MX record, and a mail server answers at its address.")
		case e.Service == smtpcheck.ServiceRefused && e.authorizesNone():
			return no("It has no MX record, its addresses refuse port 25, and its SPF record says that it sends nothing.")
		case e.Service == smtpcheck.ServiceRefused:
			return unknown("It has no MX record, and its addresses refuse port 25 to this service.")
		}
		return unknown("It has no MX record, and whether a mail server answers at its address is not known.")
	}
	return unknown("The MX records are not known.")
}

// authorizesNone reports whether SPF authorizes no host.
func (e *Evidence) authorizesNone() bool {
	return e.SPFRecord == Yes && e.SPF == spf.Nobody && !e.SPFBroken
}

// spfOpen reports whether the hosts that SPF authorizes are unknown. With a permerror no host passes.
func (e *Evidence) spfOpen() bool { return (e.SPF == spf.Unknown || e.SPF == "") && !e.SPFBroken }

func (e *Evidence) sends() Claim {
	switch {
	case e.SPFRecord == Yes && (e.SPF == spf.Some || e.SPF == spf.Everybody):
		return yes("Its SPF record lets hosts send.")
	case e.Key == Yes:
		return yes("It has a DKIM key to sign mail with.")
	case e.authorizesNone() && e.Key == No:
		return no("Its SPF record lets no host send, and no DKIM key was found.")
	case e.authorizesNone():
		return unknown("Its SPF record lets no host send; whether it has a DKIM key is not known.")
	case e.SPFRecord == No && e.Key == No:
		return unknown("It has no SPF record, and no DKIM key was found.")
	}
	return unknown("SPF and DKIM do not show it.")
}

func (e *Evidence) web() Claim {
	if e.Web == "" {
		return unknown("No web server was asked.")
	}
	return Claim{e.Web, e.WebBecause}
}

// forgeable simulates a message from an address that the name does not use, with the name in From. It passes DMARC if
// SPF passes for the name in the envelope too, or if it is signed with a key of the name (RFC 9989 section 4.4).
func (e *Evidence) forgeable() Claim {
	whose := ""
	if e.DMARCFrom != "" && !strings.EqualFold(e.DMARCFrom, e.Name) {
		whose = " of " + e.DMARCFrom
	}
	stranger := "Its SPF record lets every host pass"
	if e.KeyOpen {
		stranger = "Strangers can sign with its DKIM key"
	}
	passes := e.SPF == spf.Everybody || e.KeyOpen
	switch {
	case (e.DMARC == PolicyUnknown || e.DMARC == "") && !passes:
		return unknown("Which DMARC policy applies is not known.")
	case passes:
		return yes(stranger + ", so that forged mail passes DMARC.")
	case e.DMARC == PolicyNone && e.DMARCFrom == "":
		return yes("No DMARC policy asks receivers to refuse forged mail.")
	case e.DMARC == PolicyNone:
		return yes("The DMARC policy" + whose + " is none, by which forged mail is delivered.")
	case e.DMARC == PolicyQuarantine && e.DMARCSample > 0 && e.DMARCSample < 100:
		return yes("The DMARC policy" + whose + " is applied to a part of forged mail only.")
	case e.spfOpen():
		return unknown("The DMARC policy p=" + string(e.DMARC) + whose + " applies, but whom SPF lets pass is not known.")
	}
	return no("The DMARC policy p=" + string(e.DMARC) + whose + " applies to forged mail.")
}

// ownRefused returns whether the name's own mail fails the policy in force, because neither SPF nor DKIM can pass.
func (e *Evidence) ownRefused() Claim {
	switch {
	case !e.DMARC.Enforced(), e.SPF == spf.Some, e.SPF == spf.Everybody, e.Key == Yes:
		return no("")
	case e.spfOpen(), e.Key != No, e.authorizesNone():
		return unknown("")
	case e.NoKeys:
		return yes("The policy p=" + string(e.DMARC) + " is in force, and neither SPF nor DKIM authenticates mail of the " +
			"name.")
	}
	return yes("The policy p=" + string(e.DMARC) + " is in force, SPF lets no host pass, and no DKIM key was found: its " +
		"own mail is refused unless it is signed with a selector that was not tried.")
}

// OwnMailRefused returns whether receivers refuse the name's own mail under the policy in force. It is unknown for a
// name that was read from JSON.
func (n *Name) OwnMailRefused() Claim {
	if n.own.Answer == "" {
		return unknown("")
	}
	return n.own
}

// Unused reports whether the name neither receives nor sends mail.
func (n *Name) Unused() bool { return n.Receives.Answer == No && n.Sends.Answer == No }

// Publishable reports whether its owner can publish records at the name.
func (n *Name) Publishable() bool {
	return n.Kind != Alias && n.Kind != Reserved && n.Kind != PublicSuffix
}

// Protected reports whether the policy of the organizational domain protects the name.
func (n *Name) Protected() bool {
	return n.Kind != Organization && n.InForce.DMARC.Enforced() && n.Forgeable.Answer == No
}

// WithoutMail reports whether the name shows no sign of receiving or sending mail: for an organizational domain that
// must be known, for a name below one the absence of signs is enough.
func (n *Name) WithoutMail() bool {
	if n.Kind == Organization || n.Kind == "" {
		return n.Unused()
	}
	return n.Receives.Answer != Yes && n.Sends.Answer != Yes
}

// Describe returns a short description of the name.
func (n *Name) Describe() string {
	switch n.Kind {
	case Alias:
		return "alias of " + n.AliasOf
	case Host:
		return "host of " + n.Organization
	case Delegated:
		return "zone below " + n.Organization
	case PublicSuffix:
		return "public suffix: others register names below it"
	case Reserved:
		return "reserved for special use"
	}
	return "organizational domain"
}
