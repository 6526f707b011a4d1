package header

import (
	"cmp"
	"net/netip"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/mailauth/arc"
	"github.com/diagkit/diagkit/mailauth/internal/filters"
	"github.com/diagkit/diagkit/mailauth/internal/provider"
	"github.com/diagkit/diagkit/mailauth/internal/route"
	"github.com/diagkit/diagkit/mailauth/message"
)

func (e *evidence) facts() Facts {
	lines := e.badLines()
	f := Facts{
		Message: e.summary(), Authentication: e.authentication(), ARC: arcReport(e.chain),
		DKIMSignatures: kit.Map(e.signatures, func(s signature) Signature { return s.Signature }),
		Alignment:      Alignment{FromDomain: e.fromDomain, OrganizationalDomain: e.fromOrg},
		Hops:           []Hop{}, List: e.list, HeadersCount: len(e.msg.Fields),
		SpamVerdicts:     kit.Map(e.spam, func(v filters.Verdict) SpamVerdict { return SpamVerdict(v) }),
		DuplicateHeaders: e.duplicates(), MissingHeaders: e.missing(), Damage: append([]Damage{}, e.damage...),
		MalformedLines: kit.Map(lines[:min(len(lines), maxBadLines)], func(l message.Line) BadLine {
			return BadLine{l.Line, clip(message.Unfold(l.Raw))}
		}),
	}
	if aligned, known := e.aligned("spf"); known {
		f.Alignment.SPFAligned = &aligned
	}
	if aligned, known := e.aligned("dkim"); known {
		f.Alignment.DKIMAligned = &aligned
	}
	for i := range e.path.Hops {
		f.Hops = append(f.Hops, e.hopReport(&e.path.Hops[i]))
	}
	if d, known := e.path.TotalDelay(); known {
		f.TotalDelay = new(int64(d.Seconds()))
	}
	return f
}

func (e *evidence) summary() Summary {
	s := Summary{
		From: shown(e.from), To: shown(e.to), ReplyTo: shown(e.replyTo), Subject: e.text("Subject", maxSubject),
		Mailer: cmp.Or(e.text("X-Mailer", maxShown), e.text("User-Agent", maxShown)),
	}
	if len(e.sender) > 0 {
		s.Sender = shown(e.sender[:1])[0]
	}
	if e.returnPath != nil {
		s.ReturnPath = new(clip(message.DecodeText(e.returnPath.Addr())))
	}
	if e.dated && e.date.Time.Year() < 10000 {
		s.Date = e.date.Time.UTC()
	}
	if ids := message.MessageIDs(e.msg.Value("Message-ID")); len(ids) > 0 {
		s.MessageID = clip(ids[0])
	}
	return s
}

func (e *evidence) authentication() Authentication {
	list := func(method string) []AuthResult {
		results := []AuthResult{}
		add := func(a *authField, found ...result) {
			for _, r := range found[:min(len(found), maxResults-len(results))] {
				results = append(results, e.authResult(a, r))
			}
		}
		for i := range e.authFields {
			if a := &e.authFields[i]; a.header != nil {
				add(a, a.of(method)...)
			}
		}
		for i := range e.authFields {
			if a := &e.authFields[i]; a.spf != nil && method == "spf" {
				add(a, spfResult(a.spf))
			}
		}
		return results
	}
	return Authentication{SPF: list("spf"), DKIM: list("dkim"), DMARC: list("dmarc"), BIMI: list("bimi"), ARC: list("arc")}
}

func (e *evidence) authResult(a *authField, r result) AuthResult {
	result := AuthResult{
		Result: clip(r.Value), Domain: clip(r.Domain()), Selector: clip(r.Property("header.s", "header.selector")),
		Reason: clip(cmp.Or(r.Reason, strings.Join(r.Comments, "; "))), AuthservID: clip(a.id), Credible: e.counts(a),
		Field: clip(a.field.Name), Raw: phrase.Clip(cmp.Or(r.Raw, a.field.Value()), maxRaw),
	}
	if r.Method == "dmarc" {
		published := r.Property("policy.dmarc", "policy.published-domain-policy")
		result.Policy = strings.ToLower(clip(cmp.Or(r.Note("p"), r.Note("policy"), published)))
	}
	if trusted, known := e.trusts(a.id); known {
		result.Trusted = &trusted
	}
	return result
}

func (e *evidence) hopReport(h *route.Hop) Hop {
	r := Hop{
		Index: h.Index, From: clip(h.From), HELO: clip(h.HELO), RDNS: clip(h.RDNS), By: clip(h.By), Via: clip(h.Via),
		With: clip(h.With), ID: clip(h.ID), For: clip(h.For), TLS: h.TLS, TLSVersion: clip(h.TLSVersion),
		TLSCipher: clip(h.TLSCipher), Border: h.Index == e.path.Border, Timestamp: h.Time.UTC(),
		IP: h.IP, PrivateIP: route.Private(h.IP), Raw: phrase.Clip(h.Field.Value(), maxRaw),
	}
	if h.RDNS != "" {
		r.Service = kit.OrZero(provider.ByPTR(h.RDNS)).Name
	}
	if h.Timed {
		r.Delay = new(int64(h.Delay.Seconds()))
	}
	return r
}

func arcReport(c *arc.Chain) ARC {
	a := ARC{Instances: c.Instances, Seals: []Seal{}, OrderValid: c.OrderValid}
	for _, s := range c.Sets {
		var results []string
		if s.Authentication != nil {
			for _, r := range s.Authentication.Results[:min(len(s.Authentication.Results), maxResults)] {
				results = append(results, r.Method+"="+r.Value)
			}
		}
		a.Seals = append(a.Seals, Seal{
			Instance: s.Instance, Domain: clip(s.Domain), Selector: clip(s.Selector), CV: clip(string(s.State)),
			Timestamp: s.SealedAt,
			Complete:  s.Seal != nil && s.Message != nil && s.Authentication != nil, Results: clipped(results, maxResults),
		})
	}
	return a
}

// Facts are the contents of a header. Reports embed them.
type Facts struct {
	Message          Summary        `json:"message" doc:"what the message says of itself"`
	Authentication   Authentication `json:"authentication" doc:"what servers wrote about its authentication, the newest first"`
	DKIMSignatures   []Signature    `json:"dkim_signatures" doc:"DKIM signatures, in the order of the header; they are not verified"`
	ARC              ARC            `json:"arc" doc:"chain of ARC; it is not verified"`
	Alignment        Alignment      `json:"alignment" doc:"whether what was authenticated is the domain in From"`
	Hops             []Hop          `json:"hops" maxitems:"200" doc:"servers that the message passed, the oldest first"`
	TotalDelay       *int64         `json:"total_delay_seconds,omitempty" doc:"time between the first and the last hop"`
	SpamVerdicts     []SpamVerdict  `json:"spam_verdicts" maxitems:"100" doc:"verdicts of spam filters"`
	List             List           `json:"list" doc:"what mailing lists and newsletters say"`
	HeadersCount     int            `json:"headers_count" min:"0" doc:"number of fields"`
	DuplicateHeaders []string       `json:"duplicate_headers" maxitems:"50" doc:"fields that may occur once and occur more often"`
	MissingHeaders   []string       `json:"missing_headers" doc:"fields that every message should have"`
	MalformedLines   []BadLine      `json:"malformed_lines" maxitems:"50" doc:"lines that are no part of a field"`
	Damage           []Damage       `json:"copy_damage" doc:"what copying did to the text, and was undone before reading"`
}

// Summary holds the descriptive fields of a message.
type Summary struct {
	From       []string  `json:"from" maxitems:"50" doc:"authors, decoded: name and address"`
	To         []string  `json:"to" maxitems:"50" doc:"recipients, decoded"`
	ReplyTo    []string  `json:"reply_to" maxitems:"50" doc:"where answers go"`
	Sender     string    `json:"sender,omitempty" doc:"who sent it on behalf of the authors"`
	ReturnPath *string   `json:"return_path,omitempty" doc:"envelope sender: where bounces go; empty for bounces themselves"`
	Subject    string    `json:"subject,omitempty" doc:"subject, decoded"`
	Date       time.Time `json:"date,omitzero" doc:"when it was sent, as it says"`
	MessageID  string    `json:"message_id,omitempty" doc:"its Message-ID without angle brackets"`
	Mailer     string    `json:"mailer,omitempty" doc:"program that it says it was written with"`
}

// Authentication lists results by their method.
type Authentication struct {
	SPF   []AuthResult `json:"spf" maxitems:"50" doc:"whether the sending address is authorized for the envelope sender"`
	DKIM  []AuthResult `json:"dkim" maxitems:"50" doc:"whether signatures verify"`
	DMARC []AuthResult `json:"dmarc" maxitems:"50" doc:"whether the domain in From is authenticated"`
	BIMI  []AuthResult `json:"bimi" maxitems:"50" doc:"whether a logo may be shown"`
	ARC   []AuthResult `json:"arc" maxitems:"50" doc:"whether the chain of ARC verifies"`
}

// An AuthResult is a result that a server recorded.
type AuthResult struct {
	Result     string `json:"result" doc:"the result, such as pass"`
	Domain     string `json:"domain,omitempty" doc:"domain that it is about"`
	Selector   string `json:"selector,omitempty" doc:"selector of the signature"`
	Policy     string `json:"policy,omitempty" doc:"policy of the domain, if the server tells it"`
	Reason     string `json:"reason,omitempty" doc:"why, in the server's words"`
	AuthservID string `json:"authserv_id" doc:"server that found it; empty where it does not tell its name"`
	Credible   bool   `json:"credible" doc:"whether the field was written where the message was received; others prove nothing"`
	Trusted    *bool  `json:"trusted,omitempty" doc:"whether the server is one of those that the request trusts"`
	Field      string `json:"field" doc:"name of the field, as sent"`
	Raw        string `json:"raw" doc:"the result as written"`
}

// A Signature is a DKIM signature.
type Signature struct {
	Domain           string    `json:"domain" doc:"domain that signed (d=)"`
	Selector         string    `json:"selector" doc:"selector of the key (s=)"`
	Algorithm        string    `json:"algorithm" doc:"algorithm (a=)"`
	Canonicalization string    `json:"canonicalization" doc:"how header and body were prepared (c=)"`
	Identity         string    `json:"identity,omitempty" doc:"who signed on behalf of the domain (i=)"`
	SignedHeaders    []string  `json:"signed_headers" maxitems:"100" doc:"fields that are signed (h=)"`
	Timestamp        time.Time `json:"timestamp,omitzero" doc:"when it was signed (t=)"`
	ExpiresAt        time.Time `json:"expires_at,omitzero" doc:"until when it is valid (x=)"`
	BodyLength       *int64    `json:"body_length,omitempty" min:"0" doc:"bytes of the body that are signed (l=)"`
	Service          string    `json:"service,omitempty" doc:"sending service that signs with this domain"`
	Aligned          *bool     `json:"aligned,omitempty" doc:"whether its domain is that of From, as DMARC compares them"`
}

// ARC is a chain of seals (RFC 8617).
type ARC struct {
	Instances  int    `json:"instances" min:"0" doc:"number of sets"`
	Seals      []Seal `json:"seals" maxitems:"50" doc:"seals, the oldest first"`
	OrderValid bool   `json:"order_valid" doc:"whether the instances run from 1 without gaps and each set is complete; true without any"`
}

// A Seal is one set of ARC.
type Seal struct {
	Instance  int       `json:"instance" min:"0" doc:"its number (i=)"`
	Domain    string    `json:"domain" doc:"domain that sealed (d=)"`
	Selector  string    `json:"selector" doc:"selector of the key (s=)"`
	CV        string    `json:"cv" doc:"what it says of the chain before it: none, pass or fail"`
	Timestamp time.Time `json:"timestamp,omitzero" doc:"when it was sealed (t=)"`
	Complete  bool      `json:"complete" doc:"whether seal, signature and results are there"`
	Results   []string  `json:"results" maxitems:"50" doc:"results that the sealing server found, such as dmarc=pass"`
}

// Alignment states whether the authenticated domain aligns with the domain in From (RFC 9989).
type Alignment struct {
	FromDomain           string `json:"from_domain" doc:"domain in From; empty if there is none, or several"`
	OrganizationalDomain string `json:"organizational_domain,omitempty" doc:"its organizational domain, by the list of public suffixes"`
	SPFAligned           *bool  `json:"spf_aligned,omitempty" doc:"whether SPF passed for the domain in From; absent without a result"`
	DKIMAligned          *bool  `json:"dkim_aligned,omitempty" doc:"whether a signature of the domain in From passed; absent without a result"`
}

// A Hop is a server that the message passed.
type Hop struct {
	Index      int        `json:"index" min:"0" doc:"position, from 0"`
	From       string     `json:"from" doc:"who handed the message over, as the field has it; empty where it does not say"`
	HELO       string     `json:"helo,omitempty" doc:"what the client called itself"`
	RDNS       string     `json:"reverse_dns,omitempty" doc:"name that the server found for the client's address"`
	Service    string     `json:"service,omitempty" doc:"sending service that the client belongs to, by its name in reverse DNS"`
	IP         netip.Addr `json:"ip,omitzero" doc:"address of the client"`
	PrivateIP  bool       `json:"private_ip" doc:"whether that address is private, loopback or link-local"`
	By         string     `json:"by" doc:"server that took the message"`
	Via        string     `json:"via,omitempty" doc:"link, where the field names one"`
	With       string     `json:"with,omitempty" doc:"protocol"`
	ID         string     `json:"id,omitempty" doc:"number in the logs of the server"`
	For        string     `json:"for,omitempty" doc:"recipient"`
	Timestamp  time.Time  `json:"timestamp,omitzero" doc:"when the server took the message"`
	Delay      *int64     `json:"delay_seconds,omitempty" doc:"time since the hop before; negative if a clock is wrong"`
	TLS        *bool      `json:"tls,omitempty" doc:"whether it came over TLS; absent where the field does not tell"`
	TLSVersion string     `json:"tls_version,omitempty" doc:"version of TLS"`
	TLSCipher  string     `json:"tls_cipher,omitempty" doc:"cipher suite"`
	Border     bool       `json:"border" doc:"whether this is where the receiving side took the message from outside"`
	Raw        string     `json:"raw" doc:"the field, unfolded; at most 2000 bytes"`
}

// A SpamVerdict is the verdict of a spam filter.
type SpamVerdict filters.Verdict

// List holds the fields of a mailing list or newsletter.
type List struct {
	Unsubscribe  string   `json:"unsubscribe,omitempty" doc:"List-Unsubscribe as sent"`
	URIs         []string `json:"unsubscribe_uris" maxitems:"20" doc:"the addresses in it"`
	Post         string   `json:"unsubscribe_post,omitempty" doc:"List-Unsubscribe-Post as sent"`
	OneClick     bool     `json:"one_click" doc:"whether a single request unsubscribes (RFC 8058)"`
	ID           string   `json:"id,omitempty" doc:"List-Id"`
	ListPost     string   `json:"post,omitempty" doc:"List-Post"`
	Archive      string   `json:"archive,omitempty" doc:"List-Archive"`
	Precedence   string   `json:"precedence,omitempty" doc:"Precedence, such as bulk or list"`
	AutoReply    bool     `json:"auto_reply" doc:"whether a program answered by itself (RFC 3834)"`
	FeedbackID   string   `json:"feedback_id,omitempty" doc:"Feedback-ID, by which Google reports complaints"`
	ResentFields int      `json:"resent_count" min:"0" doc:"how often the message was resent by hand"`
}

// A BadLine is a line of the header that belongs to no field.
type BadLine struct {
	Line int    `json:"line" min:"1" doc:"its number"`
	Text string `json:"text" doc:"the line; at most 200 bytes"`
}

// A Damage is a kind of damage that copying did to the text.
type Damage = message.Damage
