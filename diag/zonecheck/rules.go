package zonecheck

import (
	"slices"
	"sync"

	"github.com/diagkit/diagkit/diag/rule"
)

// rules is the table, in the order in which a zone is looked up. Zonemaster's cases SYNTAX01 and
// SYNTAX02 have no rule: a [diag.Domain] has neither other characters nor a hyphen at its ends.
var rules = sync.OnceValue(func() rule.Rules[*evidence] {
	return slices.Concat(ofCategory(categoryParent, existenceRules, rule.FromRequest), ofZone(together(
		standing(categoryParent, parentRules, parents), ofCategory(categoryDelegation, delegationRules, parents, recordsNS),
		ofCategory(categoryGlue, glueRules, parents, hosts), standing(categoryNameserver, nameRules, hosts),
		standing(categoryNameserver, serverRules, servers),
		standing(categoryNameserver, behaviourRules, recordsA, recordsAAAA)),
		standing(categoryNameserver, answerRules, servers, recordsSOA, recordsNS, recordsA, recordsAAAA, recordsMX,
			recordsTXT, recordsCAA, recordsHTTPS, recordsKeys, recordsCDS, parentDS), together(
			standing(categoryTransport, transportRules, servers), standing(categoryTransport, ednsRules, identity),
			standing(categorySecurity, securityRules, identity),
			ofCategory(categorySecurity, keyRules, parentDS, recordsKeys, identity),
			standing(categorySecurity, signerRules, recordsKeys, identity),
			standing(categorySecurity, slices.Concat(signatureRules, denialRules), recordsKeys, identity, recordsNS,
				recordsA, recordsAAAA, recordsMX, recordsTXT, recordsCAA, recordsHTTPS, recordsCDS, www, absent, content),
			ofCategory(categorySecurity, childRules, recordsCDS, parentDS, recordsKeys),
			ofCategory(categoryNameserver, diversityRules, parents, recordsNS, hosts, servers),
			standing(categorySOA, soaRules, servers, recordsSOA),
			standing(categorySOA, timerRules, servers, recordsSOA),
			standing(categoryRecords, targetRules, recordsNS, recordsMX, recordsHTTPS, hosts, mailHosts, aliases, www, content,
				absent),
			standing(categoryRecords, recordRules, recordsA, recordsAAAA, www, content),
			standing(categoryRecords, caaRules, recordsCAA),
			standing(categoryRecords, httpsRules, recordsHTTPS, content, serviceHosts, recordsA, recordsAAAA, www),
			standing(categoryRecords, aliasRules, aliases), standing(categoryMail, mailRules, recordsMX, mailHosts))))
})

func ofCategory(c rule.Category, rules rule.Rules[*evidence], sources ...rule.Source) rule.Rules[*evidence] {
	list := rules.Reading(sources...)
	for i := range list {
		list[i].Category = c
	}
	return list
}

// standing returns such rules that state facts: what one server is seen to do wrong is wrong, whatever others did not
// say.
func standing(c rule.Category, rules rule.Rules[*evidence], sources ...rule.Source) rule.Rules[*evidence] {
	return ofCategory(c, rules, sources...).With(rule.Rule[*evidence]{HoldsWhenUnanswered: true})
}

// ofZone returns rules that apply unless the name is known not to be a zone: of a name that does not
// exist, or that belongs to its parent zone, nothing else is judged.
func ofZone(tables ...rule.Rules[*evidence]) rule.Rules[*evidence] {
	list := slices.Concat(tables...)
	for i := range list {
		when := list[i].When
		list[i].Reads = append(slices.Clone(list[i].Reads), isZone)
		list[i].When = func(e *evidence) bool { return !e.cut.nxdomain && !e.cut.undelegated && (when == nil || when(e)) }
	}
	return list
}

// together returns rules whose failures are merged into one finding each.
func together(tables ...rule.Rules[*evidence]) rule.Rules[*evidence] {
	list := slices.Concat(tables...)
	for i := range list {
		fails := list[i].Fails
		list[i].Fails = func(e *evidence) rule.Failures { return fails(e).Joined() }
	}
	return list
}

// Category is the subject of a rule.
type Category string

// The factors of the score.
var (
	categoryParent     = rule.Category{Code: "parent", Label: "Parent zone"}
	categoryDelegation = rule.Category{Code: "delegation", Label: "Delegation"}
	categoryGlue       = rule.Category{Code: "glue", Label: "Glue"}
	categoryNameserver = rule.Category{Code: "nameserver", Label: "Name servers"}
	categorySOA        = rule.Category{Code: "soa", Label: "SOA record"}
	categoryTransport  = rule.Category{Code: "transport", Label: "Transport"}
	categorySecurity   = rule.Category{Code: "security", Label: "Security"}
	categoryRecords    = rule.Category{Code: "records", Label: "Records"}
	categoryMail       = rule.Category{Code: "mail", Label: "Mail"}
)

// Values lists the categories.
func (Category) Values() (codes []string) {
	for _, c := range []rule.Category{categoryParent, categoryDelegation, categoryGlue, categoryNameserver, categorySOA,
		categoryTransport, categorySecurity, categoryRecords, categoryMail} {
		codes = append(codes, c.Code)
	}
	return codes
}

// The sources of the rules other than the probes.
const (
	isZone   rule.Source = "zone"    // whether the name is a zone of its own
	parents  rule.Source = "parents" // the delegation at each server of the parent zone that is asked
	parentDS rule.Source = "DS"      // the DS records there
	// parentSecurity is whether the parent zone is signed, where one of its servers does not prove that there is no DS.
	parentSecurity rule.Source = "parentSecurity"
	hosts          rule.Source = "hosts"     // the addresses of the name servers
	servers        rule.Source = "servers"   // what each of them is to the zone
	origins        rule.Source = "origins"   // the networks that announce their addresses
	content        rule.Source = "content"   // what any of them was asked
	within         rule.Source = "within"    // names between others
	aliases        rule.Source = "aliases"   // where usual names lead
	mailHosts      rule.Source = "mailHosts" // the addresses of the mail servers
	// serviceHosts is where HTTPS records lead.
	serviceHosts rule.Source = "serviceHosts"
	primary      rule.Source = "primary" // the addresses of the primary server
)

// The probes that rules read, each at all servers of the zone.
const (
	identity    rule.Source = "identity"
	recursion   rule.Source = "recursion"
	transfer    rule.Source = "transfer"
	absent      rule.Source = "absent"
	www         rule.Source = "www"
	recordsKeys rule.Source = "DNSKEY"
	recordsSOA  rule.Source = "SOA"
	recordsNS   rule.Source = "NS"
	recordsA    rule.Source = "A"
	recordsAAAA rule.Source = "AAAA"
	recordsMX   rule.Source = "MX"
	recordsTXT  rule.Source = "TXT"
	recordsCAA  rule.Source = "CAA"

	recordsHTTPS rule.Source = "HTTPS"
	recordsCDS   rule.Source = "CDS" // and CDNSKEY
)

// texts are the texts of verdicts without a text from the gravest finding.
var texts = rule.Texts{
	"valid": {
		Headline: "Delegation and name servers are healthy",
		Sub:      "The name servers that were asked answer and agree.",
	},
	"zone.delegation.cyclic": {
		Headline: "The domain cannot be resolved: its delegation depends on itself",
		Sub:      "No resolver finds a name server. Give one a name with glue, or a name in a domain that works.",
	},
	"zone.delegation.lame": {
		Headline: "The domain cannot be resolved: no name server serves the zone",
		Sub: "The name servers answer but do not have the zone. Configure it there, or delegate the domain to the servers " +
			"that have it.",
	},
	"zone.delegation.unreachable": {
		Headline: "The domain cannot be resolved: no name server can be reached",
		Sub:      "Start the name servers and open port 53 for UDP and TCP.",
	},
	"zone.records.address.differ": {
		Headline: "The domain is served, with addresses that differ by name server",
		Sub: "That is right where the servers direct clients to machines nearby. Otherwise check that all of them have the " +
			"same zone.",
	},
	"zone.glue.none": {
		Headline: "The domain cannot be resolved: its name servers have no glue",
		Sub:      "Resolvers have no address to start with. Register the addresses of the name servers at the registrar.",
	},
}
