package zonecheck

import (
	"slices"
	"sync"

	"github.com/diagkit/diagkit/diag"
)

// rules is the table, in the order in which a zone is looked up. Zonemaster's cases SYNTAX01 and
// SYNTAX02 have no rule: a [diag.Domain] has neither other characters nor a hyphen at its ends.
var rules = sync.OnceValue(func() diag.Rules[*evidence] {
	return slices.Concat(ofCategory(categoryParent, existenceRules, diag.FromRequest), ofZone(
		standing(categoryParent, parentRules, parents), ofCategory(categoryDelegation, delegationRules, parents, recordsNS),
		ofCategory(categoryGlue, glueRules, parents, hosts), standing(categoryNameserver, nameRules, hosts),
		standing(categoryNameserver, serverRules, servers),
		standing(categoryNameserver, behaviourRules, recordsA, recordsAAAA),
		standing(categoryTransport, transportRules, servers), standing(categoryTransport, ednsRules, identity),
		standing(categorySecurity, securityRules, identity),
		ofCategory(categorySecurity, keyRules, parentDS, recordsKeys, identity),
		standing(categorySecurity, signatureRules, recordsKeys, identity, recordsNS, recordsA, recordsAAAA, recordsMX,
			recordsTXT, www, absent, content),
		ofCategory(categorySecurity, childRules, content, parentDS, recordsKeys),
		ofCategory(categoryNameserver, diversityRules, parents, recordsNS, hosts, servers),
		standing(categorySOA, soaRules, servers), standing(categorySOA, timerRules, servers),
		standing(categoryRecords, recordRules, recordsA, recordsAAAA, www, content),
		standing(categoryRecords, aliasRules, aliases), standing(categoryMail, mailRules, recordsMX, mailHosts)))
})

// ofCategory returns rules of a category that read sources.
func ofCategory(c diag.Category, rules diag.Rules[*evidence], sources ...diag.Source) diag.Rules[*evidence] {
	list := rules.Reading(sources...)
	for i := range list {
		list[i].Category = c
	}
	return list
}

// standing returns such rules that state facts: what one server is seen to do wrong is wrong, whatever others did not
// say.
func standing(c diag.Category, rules diag.Rules[*evidence], sources ...diag.Source) diag.Rules[*evidence] {
	return ofCategory(c, rules, sources...).With(diag.Rule[*evidence]{Stands: true})
}

// ofZone returns rules that apply unless the name is known not to be a zone: of a name that does not
// exist, or that belongs to its parent zone, nothing else is judged. What a rule finds is one finding.
func ofZone(tables ...diag.Rules[*evidence]) diag.Rules[*evidence] {
	list := slices.Concat(tables...)
	for i := range list {
		when, fails := list[i].When, list[i].Fails
		list[i].Fails = func(e *evidence) diag.Failures { return fails(e).Joined() }
		list[i].Reads = append(slices.Clone(list[i].Reads), isZone)
		list[i].When = func(e *evidence) bool { return !e.cut.nxdomain && !e.cut.undelegated && (when == nil || when(e)) }
	}
	return list
}
