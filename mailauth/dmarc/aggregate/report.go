package aggregate

import (
	"errors"
	"net/netip"
)

// A Report is an aggregate report without its records, which [Read] passes on one by one.
type Report struct {
	// Container lists the wrappers of the XML, outermost first: of gzip in a message, [Message, Gzip].
	Container []Container
	// Name is the name of the file that holds the XML, as the archive or message gives it; may be empty.
	Name string
	// Namespace is that of the root element; empty in most reports.
	Namespace string

	Metadata ReportMetadata // what is missing is empty or zero; a Fault says so where it is required
	Policy   Policy
	// Extensions names the extensions of the report as a whole, at most 100; their contents are not kept.
	Extensions []Extension
	// Records counts the records of the file, including unusable ones. Read counts those passed on, without records
	// whose count is unusable and the last one of a truncated file; a Fault reports each.
	Records, Read int
	// Messages is the sum of the counts of the records that Read passes on.
	Messages int64
	// Truncated reports whether the file ends before the report does: there may have been more records.
	Truncated bool
	// Excess reports whether the file has more than 200,000 records; Records stops counting there.
	Excess bool
	// Faults lists what was odd, in the order in which it was met, one for each Kind and Element.
	Faults []Fault
}

// A Policy is the element policy_published. Values are in lower case; what is missing is empty: nothing is
// filled in from the defaults of the protocol.
type Policy struct {
	Domain          string
	Policy          string // p
	Subdomain       string // sp
	Nonexistent     string // np, RFC 9990
	DKIMAlignment   string // adkim: r or s
	SPFAlignment    string // aspf: r or s
	Percentage      *int   // pct, RFC 7489
	Testing         string // testing: y or n, RFC 9990
	FailureOptions  string // fo, as written
	DiscoveryMethod string // psl or treewalk, RFC 9990
	Version         string // version_published, in reports of some receivers
}

// An Extension is an element that RFC 9990 lets receivers add.
type Extension struct{ Name, Definition string }

// A Record counts messages from one address with the same results.
//
// Domains are in lower case without a final dot, results and dispositions in lower case and in the words of RFC 9990;
// another value is kept, and a Fault reports it.
type Record struct {
	Report int // number of its report in the file, from 0
	Number int // from 1, in the order of the file
	Line   int // of its start tag
	// Policy is the policy of the report; nil if the record precedes policy_published. It must not be changed.
	Policy *Policy

	SourceIP   netip.Addr // the zero Addr if SourceText is not an address; never mapped to IPv6, without zone
	SourceText string     // as written
	Count      int64      // messages, never negative

	Disposition Disposition
	DKIM        Result // of the DMARC evaluation: pass only if a signature passed and was aligned
	SPF         Result // of the DMARC evaluation: pass only if SPF passed and was aligned
	Overrides   []Override

	HeaderFrom   string
	EnvelopeFrom string // empty too if the sender was <>
	EnvelopeTo   string

	DKIMAuth []DKIMAuth // at most 100
	SPFAuth  []SPFAuth  // at most 100

	Extensions []Extension // at most 100
}

// An Override is the receiver's reason for deviating from the policy (element reason).
type Override struct {
	Type    OverrideType
	Comment string
}

// A DKIMAuth is the result of one signature, before alignment.
type DKIMAuth struct {
	Domain      string
	Selector    string
	Result      Result
	HumanResult string
}

// An SPFAuth is the result of SPF for one identity, before alignment.
type SPFAuth struct {
	Domain      string
	Scope       Scope
	Result      Result
	HumanResult string // RFC 9990
}

// A Disposition is the receiver's handling of the messages.
type Disposition string

// The dispositions (RFC 7489 appendix C, RFC 9990 section 3.1.1.8).
const (
	DispositionNone       Disposition = "none"
	DispositionPass       Disposition = "pass" // RFC 9990: the messages passed, and no policy was applied
	DispositionQuarantine Disposition = "quarantine"
	DispositionReject     Disposition = "reject"
)

// A Result is that of DKIM or SPF, or of their part in the DMARC evaluation.
type Result string

// The results (RFC 8601 sections 2.7.1 and 2.7.2); the DMARC evaluation has only pass and fail.
const (
	ResultPass      Result = "pass"
	ResultFail      Result = "fail"
	ResultNone      Result = "none"
	ResultNeutral   Result = "neutral"
	ResultSoftFail  Result = "softfail"
	ResultPolicyBad Result = "policy" // DKIM: a signature that the receiver did not accept
	ResultTempError Result = "temperror"
	ResultPermError Result = "permerror"
)

// A Scope is the identity that SPF was checked for.
type Scope string

// The scopes; RFC 9990 has only mfrom.
const (
	ScopeHELO     Scope = "helo"
	ScopeMailFrom Scope = "mfrom"
)

// An OverrideType is the kind of an Override.
type OverrideType string

const (
	OverrideForwarded   OverrideType = "forwarded"         // RFC 7489
	OverrideSampledOut  OverrideType = "sampled_out"       // RFC 7489: spared by pct
	OverrideForwarder   OverrideType = "trusted_forwarder" // a forwarder that the receiver knows
	OverrideMailingList OverrideType = "mailing_list"
	OverrideLocal       OverrideType = "local_policy"
	OverrideTestMode    OverrideType = "policy_test_mode" // RFC 9990: spared by t=y
	OverrideOther       OverrideType = "other"
)

// The limits of Read. A file of more than MaxSent bytes is a [LimitError], and so is one that expands to more than 100
// MiB or 200 times its size, or has more than 1000 files or 500 reports. Of all reports together 200,000 records are
// read, of an element 4096 bytes and of a record 100 results; the rest is left out, and a Fault says so.
const (
	MaxSent     = 10 << 20  // bytes of a file
	maxExpanded = 100 << 20 // bytes of all that is in it, expanded
	maxRatio    = 200       // bytes expanded for each byte of the file, above minExpanded
	maxFiles    = 1000      // files in archives and parts of messages
	maxReports  = 500
	maxRecords  = 200_000 // of all reports together
	maxText     = 4096    // bytes of one element: names have 253, comments a few hundred
	maxUnread   = 20      // names in File.Unread
	maxAuth     = 100     // results of DKIM or SPF, overrides, extensions of one record or report
	maxErrors   = 20      // errors of one report
)

// maxMemory bounds the memory of Read in addition to the given file, in bytes: a body of a message without its
// transfer encoding, an archive that was packed once more, and buffers. A report by itself takes 1 MiB.
const maxMemory = 40 << 20

const (
	// minExpanded is the size to which any file may expand: a small report compresses well.
	minExpanded = 1 << 20
	// maxNesting bounds nested containers: a message, in it an archive, in it another, with one to spare.
	maxNesting = 5
)

// A File is the result of Read.
type File struct {
	Reports []*Report // in the order of the file, at least one
	// Unread names other files, at most 20, that cannot be opened: damaged, protected by a password, or compressed in
	// another way. There may be reports in them.
	Unread []string
}

// Read finds the aggregate reports in a file, and calls each for each record as it is read. The file may be XML, a
// gzip, zip or tar file of it, a message with such attachments, or a mailbox of such messages (RFC 4155), nested in
// each other, or several of them concatenated, as cat and zcat write them. Its content decides what it is, not its
// name. The error says what the file is instead if there is no report in it, and is a [LimitError] if it is too large;
// an error of each ends it and is returned.
//
// The Record is reused for the next one: callers must copy the lists that they keep, but not the strings. Metadata and
// policy may follow the records, and are complete when Read returns; a Record holds the policy if it came before. If
// Read returns an error, the records so far are invalid.
func Read(file []byte, each func(*Record) error) (*File, error) {
	if len(file) > MaxSent {
		return nil, &LimitError{"size", MaxSent}
	}
	o := &opener{each: each, remaining: maxExpanded, limit: LimitError{"expanded size", maxExpanded},
		capacity: capacity{maxRecords, maxFileFaults, maxFileFaults, maxFileFaults}, names: map[string]string{},
		idn: map[string]string{}}
	if most := max(minExpanded, maxRatio*int64(len(file))); most < maxExpanded {
		o.remaining, o.limit = most, LimitError{"compression ratio", maxRatio}
	}
	if err := o.open(inMemory(file, "", nil)); err != nil {
		return nil, err
	}
	if len(o.found.Reports) == 0 {
		return nil, o.mismatch
	}
	return &o.found, nil
}

// IsReport reports whether a file contains an aggregate report, and reads no more than needed.
func IsReport(file []byte) bool {
	enough := errors.New("there is a record")
	found, err := Read(file, func(*Record) error { return enough })
	return found != nil || err == enough
}

// readXML reads XML up to its end or to the next report in it. What the source breaks off with is a Fault; the error is
// that of each, or a LimitError.
func (o *opener) readXML(s *scanner, around []frame) (*builder, error) {
	b := &builder{report: &Report{}, number: len(o.found.Reports), each: o.each, capacity: &o.capacity,
		scan: s, stack: around, faults: map[faultKey]int{}, names: o.names, idn: o.idn}
	s.run(b)
	if b.err != nil {
		return nil, b.err
	}
	if limit, ok := errors.AsType[*LimitError](s.err); ok {
		return nil, limit
	}
	return b, nil
}

func (b *builder) isReport() bool {
	return b.has.feedback || b.has.metadata && b.has.policy || b.has.record
}

func (b *builder) finish() {
	r := b.report
	if !b.ended && (len(b.stack) > 0 || b.cut) {
		r.Truncated = true
		b.fault(FaultTruncated, b.path(), nil)
		if b.inRecord {
			r.Records++ // begun, but not passed on
			b.inRecord = false
		}
	} else if len(b.stack) > 0 {
		b.fault(FaultMalformed, b.path(), nil) // around the report, which is whole
	}
	if b.scan.err != nil {
		b.fault(Damaged, "", nil)
	}
	if !b.has.feedback {
		b.fault(FaultMissing, "feedback", nil)
	}
	b.stack = nil
	b.require("report_metadata/org_name", r.Metadata.Organization)
	b.require("report_metadata/email", r.Metadata.Email)
	b.require("report_metadata/report_id", r.Metadata.ReportID)
	if r.Metadata.BeginAt.IsZero() {
		b.require("report_metadata/date_range/begin", "")
	}
	if r.Metadata.EndAt.IsZero() {
		b.require("report_metadata/date_range/end", "")
	}
	b.require("policy_published/domain", r.Policy.Domain)
	b.require("policy_published/p", r.Policy.Policy)
	if r.Records == 0 {
		b.fault(FaultMissing, "record", nil)
	}
}
