package zonecheck

import (
	"fmt"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/internal/survey"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/diag/view"
)

// partNames are the sources in words, for a reader of what was not examined.
var partNames = map[rule.Source]string{
	isZone: "the delegation", parents: "the delegation in the parent zone",
	parentDS:       "the DS records in the parent zone",
	parentSecurity: "the DS records of the parent zone itself", hosts: "the addresses of the name servers",
	origins: "the networks of the name servers", aliases: "aliases below the domain",
	mailHosts: "the addresses of the mail servers", primary: "the address of the primary server",
	content: "records below the apex", within: "names between others", identity: "EDNS",
	recursion: "recursion", transfer: "zone transfers", absent: "a name that does not exist", www: "www",
	recordsSOA: "SOA records", recordsNS: "NS records", recordsA: "A records", recordsAAAA: "AAAA records",
	recordsMX: "MX records", recordsTXT: "TXT records", recordsCAA: "CAA records",
	recordsHTTPS: "HTTPS records", recordsKeys: "DNSKEY records", recordsCDS: "CDS and CDNSKEY records",
}

// Scope lists each address of the name servers, and what else was asked without an answer.
func (e *evidence) Scope() []diag.ScopePart {
	parts := kit.Map(e.Addresses, e.part)
	if e.Surplus > 0 {
		parts = append(parts, diag.ScopePart{Part: phrase.Count(e.Surplus, "more name server or address"),
			State: diag.LeftOut, Reason: "beyond the limit of an audit"})
	}
	open := e.Unanswered()
	for i, s := range open {
		if partNames[s] == "" || slices.Contains(open[:i], s) {
			continue
		}
		if p, missing := e.missing(s); missing {
			parts = append(parts, p)
		}
	}
	return parts
}

// part says whether the server at an address was examined.
func (e *evidence) part(ad *survey.Address) diag.ScopePart {
	p, r := diag.ScopePart{Part: e.place(ad), State: diag.LeftOut}, ad.SOA()
	switch {
	case ad.Hurried, r.Result == survey.NotAsked:
		p.Reason = "time ran out"
	case r.Result == survey.Unroutable, silent(ad) && e.lacksFamily(ad.IP.Is6()):
		p.Reason = "cannot be reached from here"
	case r.Result == survey.Blocked:
		p.Reason = "not a public address"
	case silent(ad):
		p.State, p.Reason = diag.NotAnswered, e.trouble(ad)
	case slices.Contains(e.serving, ad) && !ad.Deep:
		p.Reason = fmt.Sprintf("%d addresses are examined in full", survey.MaxProbed)
	default:
		p.State = diag.Examined
	}
	return p
}

// missing returns the part of the scope that was queried without an answer. Servers that are parts themselves are
// not listed again.
func (e *evidence) missing(s rule.Source) (diag.ScopePart, bool) {
	p := diag.ScopePart{Part: partNames[s], State: diag.NotAnswered}
	var hosts []string
	asked, probed := false, false
	for _, v := range e.Parent.Views {
		if s == parents && !v.NS.Settled() || s == parentDS && !v.DS.Settled() {
			hosts, asked = append(hosts, survey.BareName(v.Host)), true
		}
	}
	for _, probe := range probes {
		if probe.source != s {
			continue
		}
		probed = true
		for _, ad := range e.serving {
			if r := ad.Replies[probe.probe]; ad.Deep && !probe.told(ad, r) {
				hosts, asked = append(hosts, e.hostsOn(ad.IP)...), asked || r.Result != survey.NotAsked
			}
		}
	}
	switch {
	case len(hosts) == 0:
		return p, !probed
	case !asked:
		p.State, p.Reason = diag.LeftOut, "not asked"
	default:
		p.Reason = "no usable answer from " + phrase.Series(view.Unique(hosts), maxNamed)
	}
	return p, true
}
