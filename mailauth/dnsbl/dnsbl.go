package dnsbl

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
)

// Request is a request to check an address against lists.
type Request struct {
	IP diag.IP `json:"ip" doc:"the address, IPv4 or IPv6" example:"192.0.2.25"`
	// Lists are the ids of the lists to ask. Empty means all that know addresses of this kind.
	Lists []string `json:"lists,omitempty" minitems:"1" maxitems:"200" unique:"true" maxlen:"40" doc:"ids of the lists to ask; all if missing" example:"[\"spamhaus-zen\",\"spamcop\",\"dnswl\"]"`
}

// Report holds the answers of lists about an address, and their verdict.
type Report struct {
	IP          diag.IP `json:"ip" doc:"the address"`
	Version     int     `json:"version" enum:"4 6" doc:"its version"`
	ReverseName string  `json:"reverse_name" doc:"what precedes the zone of a list in lookups: the octets or nibbles in reverse order" example:"25.2.0.192"`
	diag.Verdict
	Listed         bool     `json:"listed" doc:"whether a blocklist has it"`
	ListedCount    int      `json:"listed_count" min:"0" doc:"blocklists that have it"`
	CheckedCount   int      `json:"checked_count" min:"0" doc:"blocklists that were asked: the sum of the other three"`
	CleanCount     int      `json:"clean_count" min:"0" doc:"blocklists that do not have it"`
	ErrorCount     int      `json:"error_count" min:"0" doc:"blocklists that refused, failed or did not answer"`
	Results        []Result `json:"results" maxitems:"200" doc:"what each blocklist says, listings first"`
	Allowlists     []Result `json:"allowlists" maxitems:"200" doc:"what each allow list says, listings first; there a listing speaks for the address"`
	SpecialPurpose string   `json:"special_purpose,omitempty" doc:"what the address is set aside for, if it is not an ordinary one" example:"Private-Use (RFC 1918)"`
	Partial        bool     `json:"partial" doc:"whether a list that is in operation could not be asked"`
	diag.Timing
}

// Result is the answer of one list about the address.
type Result struct {
	ID          string   `json:"id" doc:"its id in requests" example:"spamhaus-zen"`
	Name        string   `json:"name" doc:"its name for people" example:"Spamhaus ZEN"`
	Zone        string   `json:"zone" doc:"where it is asked; without the key, if it needs one" example:"zen.spamhaus.org"`
	Operator    string   `json:"operator" doc:"who runs it"`
	Category    Category `json:"category" doc:"what the listing is about, or without one the list"`
	Network     bool     `json:"network" doc:"whether it lists networks for what some of their addresses did"`
	Status      Status   `json:"status" doc:"what came of it; only listed and clean say something about the address"`
	SelfTest    SelfTest `json:"self_test" doc:"what its test addresses tell (RFC 5782 section 5): passed; empty: it lists nothing; wildcard: it lists everything; parked: its answers are not those of a list; none: it has no test addresses; unknown: it did not answer"`
	Listed      bool     `json:"listed" doc:"whether it has the address"`
	ReturnCodes []string `json:"return_codes" doc:"the addresses that it answered with"`
	Meanings    []string `json:"meanings" doc:"what these mean, as far as it documents them"`
	Reason      string   `json:"reason,omitempty" doc:"why it lists the address, in its own words; or why its answer does not count"`
	Severity    Severity `json:"severity" doc:"how many receivers use it"`
	DelistURL   string   `json:"delist_url,omitempty" doc:"where to ask for removal, after the cause has been removed"`
	LatencyMS   int64    `json:"latency_ms" min:"0" doc:"time from question to answer, or how long it was waited for"`
}

// Rules describes what is examined.
func (*Report) Rules() []rule.Description { return rules.Describe() }

// Check queries all lists about an address concurrently, and interprets their answers. It takes one round trip, and
// another one for the reasons of listings. The error is a *[diag.InputError], that of the context if it ended, or
// wraps [diag.ErrUnavailable] if no list answered at all.
func Check(ctx context.Context, env *diag.Env, req Request) (*Report, error) {
	e, err := examine(ctx, env, req, func(*List) bool { return true })
	if err != nil {
		return nil, err
	}
	return e.report(), nil
}

// Listings queries the blocklists of medium and high severity for an address, as [Check] does, and returns the
// listings. The count is the number of these lists that answered.
func Listings(ctx context.Context, env *diag.Env, ip diag.IP) (listings []Result, answered int, err error) {
	e, err := examine(ctx, env, Request{IP: ip}, func(l *List) bool { return l.Category != Allow && l.Severity != Low })
	if err != nil {
		return nil, 0, err
	}
	listings = kit.Map(e.listings(), func(p *probe) Result { return p.result(ip.Addr) })
	return listings, len(e.answered()), nil
}

// examine queries the lists of a request that meet the condition.
func examine(ctx context.Context, env *diag.Env, req Request, is func(*List) bool) (*evidence, error) {
	if req.IP.IsZero() {
		return nil, input.Invalid("ip", "is missing")
	}
	lists, err := diag.List(env, File, Lists, ParseLists)
	if err != nil {
		return nil, err
	}
	secrets, err := diag.List(env, KeysFile, func() keys { return nil }, parseKeys)
	if err != nil {
		return nil, err
	}
	probes, err := choose(lists, secrets, req)
	if err != nil {
		return nil, err
	}
	probes = slices.DeleteFunc(probes, func(p *probe) bool { return !is(p.list) })
	e := gather(ctx, env, req.IP, probes, secrets)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := e.unavailable(); err != nil {
		return nil, fmt.Errorf("asking about %s: %w", req.IP, err)
	}
	return e, nil
}

func choose(lists []*List, secrets keys, req Request) ([]*probe, error) {
	if len(req.Lists) > maxLists {
		return nil, input.Invalid("lists", "there may be at most %d", maxLists)
	}
	ids := kit.Map(lists, func(l *List) string { return l.ID })
	var probes []*probe
	for _, l := range lists {
		if zone, keyed := secrets.queryZone(l); zone != "" && l.knows(req.IP.Addr) &&
			(len(req.Lists) == 0 || slices.Contains(req.Lists, l.ID)) {
			probes = append(probes, &probe{list: l, zone: zone, keyed: keyed})
		}
	}
	for i, id := range req.Lists {
		field, at := fmt.Sprintf("lists[%d]", i), slices.Index(ids, id)
		if at < 0 {
			return nil, input.Invalid(field, "%.40q is not a list%s", id, similar(id, ids))
		}
		switch l := lists[at]; {
		case slices.Contains(req.Lists[:i], id):
			return nil, input.Invalid(field, "%q appears twice", id)
		case !l.knows(req.IP.Addr):
			return nil, input.Invalid(field, "%s has no IPv%d addresses", id, req.IP.Version())
		case !slices.ContainsFunc(probes, func(p *probe) bool { return p.list == l }):
			return nil, input.Invalid(field, "%s answers only those who have a key, and this service has none", id)
		}
	}
	if len(probes) == 0 {
		return nil, input.Invalid("ip", "is of a kind that no list of this service knows: IPv%d", req.IP.Version())
	}
	return probes, nil
}

const maxSimilar = 5

// similar names the ids that an unknown one was probably meant to be, as the end of a sentence.
func similar(id string, ids []string) string {
	var found []string
	if near := phrase.Nearest(id, ids...); near != "" {
		found = append(found, near)
	}
	for _, one := range ids {
		for word := range strings.SplitSeq(one, "-") {
			if len(word) > 2 && strings.Contains(lowerASCII(id), word) && !slices.Contains(found, one) {
				found = append(found, one)
			}
		}
	}
	if len(found) == 0 {
		return fmt.Sprintf("; there are %d, such as %s", len(ids), strings.Join(ids[:min(len(ids), maxSimilar)], ", "))
	}
	return "; similar: " + strings.Join(found[:min(len(found), maxSimilar)], ", ")
}

var (
	errSilence = fmt.Errorf("no list answered in time: %w", context.DeadlineExceeded)
	errNoList  = errors.New("no list gave a usable answer")
)

// unavailable returns an error if no list that is in operation answered, not even that it refuses to answer. A verdict
// on an address that no receiver sees does not need them.
func (e *evidence) unavailable() error {
	if e.purpose.hidden {
		return nil
	}
	asked, silent := 0, true
	for _, p := range e.probes {
		if p.outcome.isDefunct() {
			continue
		}
		asked++
		for _, r := range slices.Concat([]reply{p.address}, p.listed, p.unlisted) {
			if r.fault == "" && !p.limited {
				return nil
			}
			silent = silent && r.fault == TimedOut
		}
	}
	switch {
	case asked == 0:
		return nil
	case silent:
		return diag.Unavailable(fmt.Sprintf("any of %s", phrase.Count(asked, "blocklist")), errSilence)
	default:
		return diag.Unavailable(fmt.Sprintf("any of %s", phrase.Count(asked, "blocklist")), errNoList)
	}
}

func (e *evidence) report() *Report {
	r := &Report{
		IP: e.ip, Version: e.ip.Version(), ReverseName: reversed(e.ip.Addr), Verdict: e.judge(),
		Results: []Result{}, Allowlists: []Result{}, SpecialPurpose: e.purpose.text, Timing: diag.NewTiming(e.began, e.ended),
	}
	for _, p := range e.probes {
		o := &p.outcome
		r.Partial = r.Partial || !o.measured() && !o.isDefunct()
		if p.list.Category == Allow {
			r.Allowlists = append(r.Allowlists, p.result(e.ip.Addr))
			continue
		}
		r.Results = append(r.Results, p.result(e.ip.Addr))
		switch o.status {
		case Listed:
			r.ListedCount++
		case Clean:
			r.CleanCount++
		default:
			r.ErrorCount++
		}
	}
	r.CheckedCount, r.Listed = len(r.Results), r.ListedCount > 0
	rank := map[bool]int{true: -1}
	listedFirst := func(a, b Result) int { return rank[a.Listed] - rank[b.Listed] }
	slices.SortStableFunc(r.Results, listedFirst)
	slices.SortStableFunc(r.Allowlists, listedFirst)
	return r
}

func (p *probe) result(ip netip.Addr) Result {
	l, o := p.list, &p.outcome
	r := Result{
		ID: l.ID, Name: l.Name, Zone: l.public(p.keyed), Operator: l.Operator, Category: p.category(),
		Network: l.ofNetworks(),
		Status:  o.status, SelfTest: o.test, Listed: o.status == Listed,
		ReturnCodes: kit.Map(o.reading.codes, netip.Addr.String),
		Meanings:    append([]string{}, o.reading.meanings...), Severity: l.Severity, LatencyMS: p.latency.Milliseconds(),
	}
	switch {
	case r.Listed:
		r.Reason = strings.Join(p.reasons, "; ")
		if l.Category != Allow {
			r.DelistURL = l.delistURL(ip)
		}
	case o.why != "":
		r.Reason = phrase.Capitalize(o.why) + "."
	}
	return r
}

func (p *probe) category() Category {
	if p.outcome.status == Listed {
		return p.outcome.reading.category
	}
	return p.list.Category
}
