package hostedspf

import (
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// What stays published where a resolution fails.
const (
	lastGood = "The last good records stay published."
	noneYet  = "Nothing is published yet."
)

// textsFor returns the texts for a profile of which records of an earlier resolution are published, or none.
func textsFor(existing bool) diag.Texts {
	if existing {
		return texts
	}
	first := diag.Texts{}
	for code, t := range texts {
		t.Sub = strings.Replace(t.Sub, lastGood, noneYet, 1)
		first[code] = t
	}
	return first
}

var texts = diag.Texts{
	"valid": {Headline: "The SPF record is flattened and published",
		Sub: "The published records authorize the same hosts with fewer DNS lookups. Nothing needs to be done."},
	"spf.hosted.source.unknown": {Headline: "The SPF record could not be resolved completely",
		Sub: "Name servers did not answer. " + lastGood + " It is resolved again soon."},
	"spf.hosted.source.broken": {Headline: "The SPF record leads to a broken one and was not resolved",
		Sub: lastGood + " Remove the term that leads there, or have that record fixed."},
	"spf.hosted.source.own": {Headline: "The SPF source record includes its own flattened records",
		Sub: lastGood + " Create the profile again from the original record."},
	"spf.hosted.source.large": {Headline: "The SPF record needs too many lookups to be resolved",
		Sub: lastGood + " Remove includes that are not needed."},
	"spf.hosted.stays.relative": {Headline: "The SPF record has a term that cannot be moved",
		Sub: lastGood + " Put that term into the domain's own record."},
	"spf.hosted.lookups.exceeded": {Headline: "The flattened SPF records do not fit into 9 DNS lookups",
		Sub: lastGood + " Remove services that are no longer used."},
	"spf.hosted.lookups.near": {Headline: "The SPF record is flattened, but nearly full",
		Sub: "With one or two services more it no longer fits. Remove what is not needed."},
	"spf.hosted.all.pass": {Headline: "The SPF record authorizes every host",
		Sub: "It ends with +all, which takes all protection away. Replace it with -all."},
	"spf.hosted.domain.dangling": {Headline: "The domain's SPF record leads to a name without records",
		Sub: "Receivers return permerror. Publish the domain's former record until a resolution has succeeded."},
	"spf.hosted.domain.unused": {Headline: "The SPF records are ready, but the domain does not use them",
		Sub: "Point the domain's record to the include host."},
}
