package hostedspf

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

const (
	version = "v=spf1"
	// maxLength bounds the text of a published record, in bytes. CONTRACT 6 wants fewer than 450.
	maxLength = 449
	// maxMessage is the size that every client accepts by datagram (RFC 1035 section 4.2.1); RFC 7208 section 3.4
	// asks that answers fit.
	maxMessage = 512
	// maxLookups bounds the lookups of a published set, including the term that refers to it. CONTRACT 6 wants fewer
	// than the 10 of RFC 7208 section 4.6.4: a domain can still have one term of its own beside it.
	maxLookups = eval.MaxLookups - 1
	// maxRecords bounds the published set: a record that leads to it costs one lookup, and each record
	// after the first another.
	maxRecords = maxLookups
)

// room is how long the text of a record may be at a name, so that the answer fits into [maxMessage].
func room(name string) int {
	const (
		header   = 12    // RFC 1035 section 4.1.1
		question = 2 + 4 // the length of the first label and the root; type and class
		record   = 2 + 10
	)
	n := maxMessage - header - question - len(name) - record
	for count := 1; ; count++ { // each string of the record has a byte for its length
		if n-count <= count*255 {
			return min(n-count, maxLength)
		}
	}
}

// partDigits is how many characters of a hash name a part: 40 bits. One host serves some hundred parts at a time at
// most.
const partDigits = 8

// partName returns the name of a part published below a host beside its first record. It is derived from the content:
// a name always has the same content, whichever versions of its parent records a resolver has cached.
func partName(host, content string) string {
	sum := sha256.Sum256([]byte(content))
	return "_" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:partDigits]) + "." + host
}

func partSize(host string) int { return 1 + partDigits + 1 + len(host) }

// pack divides words among records, of which the first has the name of the host, and returns them with their lookups:
// one for the first, and one for each reference to another. It returns no records if there would be more than
// [maxRecords].
//
// Consecutive words with the same sign can go into a part of their own, which is included with that sign: it matches
// if and only if one of the words does, and order is kept. The rest is in the first record; if it does not fit, it
// continues in another record by redirect. The number of parts is chosen for the fewest records.
func pack(host string, words []word, ending []string) (records []Record, lookups int) {
	p := packer{host: host, ending: ending, first: room(host), part: room(strings.Repeat("x", partSize(host)))}
	chunks := p.divide(words)
	var best [][]word
	bestTotal := maxRecords + 1
	bySaving := slices.Clone(chunks)
	slices.SortStableFunc(bySaving, func(a, b *chunk) int { return p.saving(b) - p.saving(a) })
	parts, chosen := 0, 0
	for {
		if chain, ok := p.chain(p.lines(chunks)); ok && parts+len(chain) <= bestTotal && parts+len(chain) <= maxRecords {
			best, bestTotal, chosen = chain, parts+len(chain), parts
		}
		if parts == len(bySaving) || parts == maxRecords-1 || p.saving(bySaving[parts]) <= 0 {
			break
		}
		bySaving[parts].apart = true
		parts++
	}
	if best == nil {
		return nil, 0
	}
	for _, c := range bySaving[chosen:] {
		c.apart = false
	}
	return p.records(best, chunks), bestTotal
}

type packer struct {
	host        string
	ending      []string
	first, part int // how long the text of the first record and of the others may be
}

// A chunk is words with the same sign that fit into one record.
type chunk struct {
	qualifier eval.Qualifier
	words     []word
	apart     bool // it is in a part of its own
}

func (c *chunk) text() string {
	plain := slices.Clone(c.words)
	for i := range plain {
		plain[i].qualifier = eval.QualifierPass
	}
	return join(plain, nil)
}

// divide cuts words into chunks, in order, each as full as it gets.
func (p *packer) divide(words []word) []*chunk {
	var chunks []*chunk
	size := 0
	for _, w := range words {
		n := len(chunks)
		if n == 0 || chunks[n-1].qualifier != w.qualifier || size+1+len(w.text) > p.part {
			chunks = append(chunks, &chunk{qualifier: w.qualifier})
			size = len(version)
			n++
		}
		chunks[n-1].words = append(chunks[n-1].words, w)
		size += 1 + len(w.text)
	}
	return chunks
}

// saving returns how many bytes a part of its own saves in the records.
func (p *packer) saving(c *chunk) int {
	return length(c.words, nil) - length([]word{{qualifier: c.qualifier, text: p.include(c, false)}}, nil)
}

// include returns the term that replaces a chunk. If only its length counts, its name need not be known.
func (p *packer) include(c *chunk, named bool) string {
	if !named {
		return "include:" + strings.Repeat("x", partSize(p.host))
	}
	return "include:" + partName(p.host, c.text())
}

func (p *packer) lines(chunks []*chunk) []word {
	var lines []word
	for _, c := range chunks {
		if c.apart {
			lines = append(lines, word{qualifier: c.qualifier, text: p.include(c, true)})
		} else {
			lines = append(lines, c.words...)
		}
	}
	return lines
}

// chain divides lines among the first record and its continuations. It reports false if a term is too long.
func (p *packer) chain(lines []word) ([][]word, bool) {
	var chain [][]word
	limit := p.first
	for length(lines, p.ending) > limit {
		onward := length(nil, p.onward(strings.Repeat("x", partSize(p.host))))
		n := 0
		for n < len(lines) && onward+1+len(lines[n].String()) <= limit {
			onward += 1 + len(lines[n].String())
			n++
		}
		if n == 0 || len(chain) == maxRecords {
			return nil, false
		}
		chain, lines, limit = append(chain, lines[:n]), lines[n:], p.part
	}
	return append(chain, lines), true
}

// onward returns the ending of a record that redirects to a name. It has the modifier exp of the last record, because
// the exp of the record whose term fails counts (RFC 7208 section 6.2).
func (p *packer) onward(name string) []string {
	ending := []string{"redirect=" + name}
	for _, e := range p.ending {
		if strings.HasPrefix(e, "exp=") {
			ending = append(ending, e)
		}
	}
	return ending
}

// records writes the chain, from its end since each record names the next, and the parts.
func (p *packer) records(chain [][]word, chunks []*chunk) []Record {
	var list []Record
	add := func(name, text string) {
		r := Record{Name: name, Value: text, LengthBytes: len(text)}
		if !slices.Contains(list, r) { // two chunks may be the same
			list = append(list, r)
		}
	}
	texts := make([]string, len(chain))
	ending := p.ending
	for i := len(chain) - 1; i >= 0; i-- {
		texts[i] = join(chain[i], ending)
		ending = p.onward(partName(p.host, texts[i]))
	}
	add(p.host, texts[0])
	for _, c := range chunks {
		if c.apart {
			add(partName(p.host, c.text()), c.text())
		}
	}
	for _, text := range texts[1:] {
		add(partName(p.host, text), text)
	}
	return list
}

func join(words []word, ending []string) string {
	return strings.Join(slices.Concat([]string{version}, kit.Map(words, word.String), ending), " ")
}

func length(words []word, ending []string) int { return len(join(words, ending)) }

func hash(records []Record) string {
	h := sha256.New()
	for _, r := range records {
		fmt.Fprintf(h, "%s %s\n", r.Name, r.Value)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// String writes the word with its sign.
func (w word) String() string {
	if w.qualifier == eval.QualifierPass {
		return w.text
	}
	return string(w.qualifier) + w.text
}
