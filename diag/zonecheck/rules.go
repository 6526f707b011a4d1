package zonecheck

import (
	"slices"

	"github.com/diagkit/diagkit/diag"
)

// rules is the table, in the order in which a zone is looked up. Zonemaster's cases SYNTAX01 and
// SYNTAX02 have no rule: a [diag.Domain] has neither other characters nor a hyphen at its ends.
var rules = slices.Concat(existenceRules, ofZone(parentRules, delegationRules, glueRules, nameRules, serverRules,
	behaviourRules, diversityRules, transportRules, ednsRules, securityRules, keyRules, signatureRules, childRules,
	soaRules, timerRules, recordRules, aliasRules, mailRules))

// ofZone returns rules that apply unless the name is known not to be a zone: of a name that does not
// exist, or that belongs to its parent zone, nothing else is judged.
func ofZone(tables ...diag.Rules[*evidence]) diag.Rules[*evidence] {
	list := slices.Concat(tables...)
	for i := range list {
		when := list[i].When
		list[i].When = func(e *evidence) bool { return !e.cut.nxdomain && !e.cut.undelegated && (when == nil || when(e)) }
	}
	return list
}
