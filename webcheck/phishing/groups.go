package phishing

import (
	"slices"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
)

// A Group is the common cause of several signals, of which only the heaviest counts.
type Group string

// The groups of signals.
const (
	machineMade  Group = "generated_address" // an address that a program made: long, of digits, random
	hostShape    Group = "host_form"         // the same of the host's name
	disguise     Group = "disguise"          // what keeps a reader from seeing the host
	noDomain     Group = "ip_address"        // no domain at all
	wording      Group = "wording"           // words of signing in and verifying
	brandInHost  Group = "brand_in_address"  // the name of a brand in the address
	hosting      Group = "hosting"           // a place where anyone puts pages
	topLevel     Group = "top_level_domain"  // where names cost next to nothing
	compromised  Group = "compromised_site"  // a page on a site of another owner
	phishingKit  Group = "kit"               // traces of a kit for making phishing pages
	onward       Group = "onward"            // what leads to another site
	recipient    Group = "recipient"         // the visitor's own address
	transport    Group = "transport"         // no protection on the way
	newness      Group = "newness"           // registration and certificate of late
	brandOnPage  Group = "brand_on_page"     // a page in the name of a brand
	askedSecret  Group = "secret"            // what the page asks for
	sentSecret   Group = "destination"       // and where it goes
	hiddenCode   Group = "page_code"         // what the page does unseen
	foreignParts Group = "page_parts"        // links and frames of other sites
)

// Values lists the groups.
func (Group) Values() []string {
	return kit.Map(groups, func(g groupOfRules) string { return string(g.group) })
}

type groupOfRules struct {
	group Group
	codes string
}

func (g *groupOfRules) list() []diag.Code {
	return kit.Map(strings.Fields(g.codes), func(s string) diag.Code { return diag.Code(s) })
}

// groups assigns each rule with a weight to its group.
var groups = []groupOfRules{
	{machineMade, `phishing.url.long phishing.url.very_long phishing.url.random phishing.url.code phishing.url.digits`},
	{hostShape, `phishing.host.long phishing.host.digits phishing.host.random phishing.host.hyphens`},
	{disguise, `phishing.url.userinfo phishing.url.obfuscated phishing.url.data_uri phishing.host.mixed_scripts
		phishing.host.punycode phishing.host.subdomains phishing.url.double_extension`},
	{noDomain, `phishing.host.ip_address phishing.host.ip_address.disguised`},
	{wording, `phishing.host.keyword phishing.url.keyword phishing.url.keywords`},
	{brandInHost, `phishing.lookalike.homoglyph phishing.lookalike.typo phishing.lookalike.combo
		phishing.lookalike.subdomain phishing.lookalike.fair phishing.lookalike.weak phishing.url.brand_domain
		phishing.url.brand phishing.host.inner_suffix`},
	{hosting, `phishing.host.free_hosting phishing.host.blog phishing.host.dynamic_dns phishing.host.shortener
		phishing.host.service`},
	{topLevel, `phishing.host.tld`},
	{compromised, `phishing.url.program_directory phishing.url.repeated phishing.url.home_directory phishing.url.deep`},
	{phishingKit, `phishing.url.program_page phishing.url.kit_parameter phishing.url.double_slash phishing.url.entity`},
	{onward, `phishing.url.embedded_url phishing.redirect.document phishing.redirect.sites`},
	{recipient, `phishing.url.mail_address`},
	{transport, `phishing.url.unencrypted phishing.url.port phishing.tls.invalid phishing.page.password.insecure`},
	{newness, `phishing.registration.new phishing.registration.young phishing.registration.missing phishing.tls.new`},
	{brandOnPage, `phishing.page.brand_login phishing.page.brand_secret phishing.page.brand_mixed
		phishing.page.brand_title phishing.page.icon`},
	{askedSecret, `phishing.page.recovery_phrase phishing.page.nameless
		phishing.page.unmatched_name`},
	{sentSecret, `phishing.page.password.foreign phishing.page.password.nowhere phishing.page.exfiltration`},
	{hiddenCode, `phishing.page.pasted_command phishing.page.obfuscated phishing.page.hidden_frame`},
	{foreignParts, `phishing.page.links phishing.page.frame`},
}

var groupsByCode = sync.OnceValue(func() map[diag.Code]Group {
	m := map[diag.Code]Group{}
	for _, g := range groups {
		for _, code := range g.list() {
			m[code] = g.group
		}
	}
	return m
})

// counted returns the heaviest signal of each group, in the order of the list.
func counted(signals []Signal) (list []Signal) {
	for _, s := range signals {
		at := slices.IndexFunc(list, func(o Signal) bool { return o.Group == s.Group })
		if at < 0 {
			list = append(list, s)
		} else if s.Weight > list[at].Weight {
			list[at] = s
		}
	}
	return list
}
