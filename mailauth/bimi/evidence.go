package bimi

import (
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/bimi/record"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/taglist"
	"github.com/miekg/dns"
)

type evidence struct {
	offline bool // only a text is known
	now     time.Time
	// What receivers use: found are the records at the name that decides, and record is the one, if there is one.
	found     taglist.Found
	record    *record.Record
	suggested string // the record as it should be written; empty if that is not known
	// What a lookup adds.
	discovery *record.Discovery
	place     *record.Place // where the records of found are; nil if there are none
	failing   *record.Place // the place without an answer, for which it is not known whether there is a record; else nil
	split     bool          // receivers of RFC 7489 and those of RFC 9989 find other records
	dmarc     *policy.Discovery
	apex      diag.Answer[*dns.TXT] // at the domain itself
	standing  standing
	beside    beside
	// The logo and the certificate; nil if they were not fetched.
	logo, mark *part
	fetched    fetched
	matches    *bool // whether the logo is the one in the certificate; nil if that is not known
	lineEnds   bool  // it is but for its line ends
}

// beside is what else the names tell at which the DNS was asked.
type beside struct {
	taglist.Elsewhere
	fallback string // the record of the default selector, where another one was asked for and has none
	open     string // the SPF record if it lets everybody send
}

func printable(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// take reads the record, if there is exactly one.
func (e *evidence) take(found taglist.Found) {
	e.found = found
	if len(found.Records) == 1 {
		r := record.Read(found.List)
		e.record, e.found.List = &r, r.List
	}
	e.suggested = e.correct()
}

func (e *evidence) domain() diag.Domain { return e.discovery.Domain }

func (e *evidence) name() string { return e.discovery.Own().Name }

// exists reports whether the domain exists, and whether that is known: NXDOMAIN for one type holds for all.
func (e *evidence) exists() (yes, known bool) {
	if exists, err := e.dmarc.Exists(); err == nil {
		return exists, true
	}
	return !e.apex.NXDomain() || len(e.apex.Aliases) > 0, e.apex.Err() == nil
}

func (e *evidence) nonexistent() bool {
	if e.offline || !e.discovery.Own().Answer.NXDomain() || len(e.discovery.Own().Answer.Aliases) > 0 {
		return false
	}
	exists, known := e.exists()
	return known && !exists
}

// The sources that rules read.
const (
	fromRecord diag.Source = "record" // the TXT records at the names where receivers look
	fromDMARC  diag.Source = "dmarc"
	fromBeside diag.Source = "beside" // the domain itself and wrong names
)

// Unanswered implements [diag.Asked].
func (e *evidence) Unanswered() []diag.Source {
	return diag.Unanswered(map[diag.Source]bool{
		fromRecord: e.failing == nil, fromDMARC: e.standing.unknown == nil, fromBeside: e.beside.Unknown == "",
	})
}

func (e *evidence) present() bool { return len(e.found.Records) > 0 }

// none reports whether there is nothing that could be a record.
func (e *evidence) none() bool {
	return e.failing == nil && len(e.found.Records)+len(e.found.Strays) == 0 && !e.nonexistent()
}

// active reports whether there is one record, which does not decline: one that asks for a logo to be shown.
func (e *evidence) active() bool { return e.record != nil && !e.record.Declined }

// torn reports whether a tag may be hidden in another one, so that nothing can be said about either.
func (e *evidence) torn() bool {
	hides := func(f taglist.Fault) bool {
		return slices.Contains([]taglist.Kind{taglist.NoEquals, taglist.BadName, taglist.Unparted}, f.Kind)
	}
	return slices.ContainsFunc(e.found.List.Faults, hides) || e.found.Parted() != e.found.List.Text
}

func (e *evidence) valid() bool {
	long := func(s string) bool { return len(s) > diag.MaxTXTString }
	return e.record != nil && e.record.Valid() && !slices.ContainsFunc(e.found.Strings, long)
}
