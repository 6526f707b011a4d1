package zonecheck

import (
	"slices"
	"sync"

	"github.com/diagkit/diagkit/diag"
)

// rules is the table, in the order in which a zone is looked up. Zonemaster's cases SYNTAX01 and
// SYNTAX02 have no rule: a [diag.Domain] has neither other characters nor a hyphen at its ends.
var rules = sync.OnceValue(func() diag.Rules[*evidence] {
	return slices.Concat(existenceRules.Reading(diag.FromRequest), ofZone(
		standing(parentRules, parents), delegationRules.Reading(parents, recordsNS), glueRules.Reading(parents, hosts),
		standing(nameRules, hosts), standing(serverRules, servers), standing(behaviourRules, recordsA, recordsAAAA),
		standing(transportRules, servers), standing(ednsRules, identity), standing(securityRules, identity),
		keyRules.Reading(parentDS, recordsKeys, identity),
		standing(signatureRules, recordsKeys, identity, recordsNS, recordsA, recordsAAAA, recordsMX, recordsTXT, www, absent,
			content),
		childRules.Reading(content, parentDS, recordsKeys), diversityRules.Reading(parents, recordsNS, hosts, servers),
		standing(soaRules, servers), standing(timerRules, servers), standing(recordRules, recordsA, recordsAAAA, www, content),
		standing(aliasRules, aliases), standing(mailRules, recordsMX, mailHosts)))
})

// standing returns rules that read sources, and that state facts: what one server is seen to do wrong is wrong,
// whatever others did not say.
func standing(rules diag.Rules[*evidence], sources ...diag.Source) diag.Rules[*evidence] {
	list := rules.Reading(sources...)
	for i := range list {
		list[i].Stands = true
	}
	return list
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
