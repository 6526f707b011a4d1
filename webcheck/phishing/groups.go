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
	GroupMachineMade  Group = "generated_address" // an address that a program made: long, of digits, random
	GroupHostShape    Group = "host_form"         // the same of the host's name
	GroupDisguise     Group = "disguise"          // what keeps a reader from seeing the host
	GroupNoDomain     Group = "ip_address"        // no domain at all
	GroupWording      Group = "wording"           // words of signing in and verifying
	GroupBrandInHost  Group = "brand_in_address"  // the name of a brand in the address
	GroupHosting      Group = "hosting"           // a place where anyone puts pages
	GroupTopLevel     Group = "top_level_domain"  // where names cost next to nothing
	GroupCompromised  Group = "compromised_site"  // a page on a site of another owner
	GroupPhishingKit  Group = "kit"               // traces of a kit for making phishing pages
	GroupOnward       Group = "onward"            // what leads to another site
	GroupRecipient    Group = "recipient"         // the visitor's own address
	GroupTransport    Group = "transport"         // no protection on the way
	GroupNewness      Group = "newness"           // registration and certificate of late
	GroupBrandOnPage  Group = "brand_on_page"     // a page in the name of a brand
	GroupAskedSecret  Group = "secret"            // what the page asks for
	GroupSentSecret   Group = "destination"       // and where it goes
	GroupHiddenCode   Group = "page_code"         // what the page does unseen
	GroupForeignParts Group = "page_parts"        // links and frames of other sites
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
	{GroupMachineMade, `phishing.url.long phishing.url.very_long phishing.url.random phishing.url.code
		phishing.url.digits`},
	{GroupHostShape, `phishing.host.long phishing.host.digits phishing.host.random phishing.host.hyphens`},
	{GroupDisguise, `phishing.url.userinfo phishing.url.obfuscated phishing.url.data_uri phishing.host.mixed_scripts
		phishing.host.punycode phishing.host.subdomains phishing.url.double_extension`},
	{GroupNoDomain, `phishing.host.ip_address phishing.host.ip_address.disguised`},
	{GroupWording, `phishing.host.keyword phishing.url.keyword phishing.url.keywords`},
	{GroupBrandInHost, `phishing.lookalike.homoglyph phishing.lookalike.typo phishing.lookalike.combo
		phishing.lookalike.subdomain phishing.lookalike.fair phishing.lookalike.weak phishing.url.brand_domain
		phishing.url.brand phishing.host.inner_suffix`},
	{GroupHosting, `phishing.host.free_hosting phishing.host.blog phishing.host.dynamic_dns phishing.host.shortener
		phishing.host.service`},
	{GroupTopLevel, `phishing.host.tld`},
	{GroupCompromised, `phishing.url.program_directory phishing.url.repeated phishing.url.home_directory
		phishing.url.deep`},
	{GroupPhishingKit, `phishing.url.program_page phishing.url.kit_parameter phishing.url.double_slash
		phishing.url.entity`},
	{GroupOnward, `phishing.url.embedded_url phishing.redirect.document phishing.redirect.sites`},
	{GroupRecipient, `phishing.url.mail_address`},
	{GroupTransport, `phishing.url.unencrypted phishing.url.port phishing.tls.invalid phishing.page.password.insecure`},
	{GroupNewness, `phishing.registration.new phishing.registration.young phishing.registration.missing phishing.tls.new`},
	{GroupBrandOnPage, `phishing.page.brand_login phishing.page.brand_secret phishing.page.brand_mixed
		phishing.page.brand_title phishing.page.icon`},
	{GroupAskedSecret, `phishing.page.recovery_phrase phishing.page.nameless
		phishing.page.unmatched_name`},
	{GroupSentSecret, `phishing.page.password.foreign phishing.page.password.nowhere phishing.page.exfiltration`},
	{GroupHiddenCode, `phishing.page.pasted_command phishing.page.obfuscated phishing.page.hidden_frame`},
	{GroupForeignParts, `phishing.page.links phishing.page.frame`},
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
