package aggregate

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// check reads a file, and checks what holds of any.
func check(t *testing.T, data []byte) {
	records := 0
	f, err := Read(data, func(r *Record) error {
		records++
		require.Less(t, r.Number, maxRecords+1)
		require.GreaterOrEqual(t, r.Count, int64(0))
		require.LessOrEqual(t, r.Count, int64(maxCount))
		require.LessOrEqual(t, max(len(r.Overrides), len(r.DKIMAuth), len(r.SPFAuth), len(r.Extensions)), maxAuth)
		require.LessOrEqual(t, len(r.HeaderFrom), 3*maxText) // a byte of Windows-1252 is at most three of UTF-8
		require.True(t, utf8.ValidString(r.HeaderFrom+r.SourceText))
		require.True(t, !r.SourceIP.Is4In6() && r.SourceIP.Zone() == "")
		return nil
	})
	require.Equal(t, f == nil, err != nil)
	if err != nil {
		_, other := errors.AsType[*notReportError](err)
		_, limit := errors.AsType[*LimitError](err)
		require.True(t, other || limit, "%v", err)
		return
	}
	require.LessOrEqual(t, len(f.Reports), maxReports)
	for _, r := range f.Reports {
		records -= r.Read
		checkReport(t, r)
	}
	require.Zero(t, records)
}

func checkReport(t *testing.T, r *Report) {
	require.LessOrEqual(t, r.Read, r.Records)
	require.LessOrEqual(t, len(r.Faults), maxFaults+30)
	for _, f := range r.Faults {
		require.Positive(t, f.Count)
		require.Len(t, f.Places, min(f.Count, maxPlaces))
		for _, p := range f.Places {
			require.True(t, utf8.ValidString(p.Value) && utf8.ValidString(f.Element))
			require.LessOrEqual(t, len(p.Value), 3*maxValue+len("…"))
			require.Positive(t, p.Line)
			require.LessOrEqual(t, p.Record, r.Records)
		}
	}
}

// FuzzRead reads damaged XML. A whole record behind it is read all the same, unless what is before swallows it.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{"", reportXML, "<a b='", "<record>", "<![CDATA[", "<!--", "</feedback>",
		"&#x41;&x;", "<row><row/>", "\xff\xfe",
		"<extensions><extension name='a'>", "<p>", "<reason><type>"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, junk []byte) {
		check(t, junk)
		checkBoth(t, junk)
		text := append([]byte(begin+recordXML), junk...)
		check(t, append(text, recordXML+end...))
		first := ""
		_, err := Read(text, func(r *Record) error {
			if r.Report == 0 && r.Number == 1 {
				first = summary([]Record{*r})
			}
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, good1, first, "what follows a record changes nothing about it")
	})
}

// checkBoth reads the data after a report: if it is a report by itself, each of its records is read.
func checkBoth(t *testing.T, data []byte) {
	const declaration = `<?xml version="1.0"?>`
	count := func(data []byte) (n int, err error) {
		_, err = Read(data, func(*Record) error { n++; return nil })
		return n, err
	}
	if alone, err := count(slices.Concat([]byte(declaration), data)); err == nil {
		both, err := count(slices.Concat([]byte(reportXML+"\n"+declaration), data))
		require.NoError(t, err)
		require.Equal(t, alone+1, both)
	}
}

// FuzzMailbox splits texts into messages: nothing is lost, and each but the first begins with a separator.
func FuzzMailbox(f *testing.F) {
	f.Add([]byte(mailbox("From: a\r\n\r\nx\r\n", "To: b\n\ny\n")))
	f.Add([]byte("From: a\n\nHello,\n\nFrom here on nothing.\n\nFrom x\nSubject: y\n"))
	f.Fuzz(func(t *testing.T, box []byte) {
		var whole []byte
		for m := range messages(box) {
			require.NotEmpty(t, m)
			require.True(t, len(whole) == 0 || bytes.HasPrefix(m, []byte("From ")))
			whole = append(whole, m...)
		}
		require.True(t, bytes.Equal(box, whole))
	})
}

// FuzzContainer reads damaged archives and messages, and what is packed in them.
func FuzzContainer(f *testing.F) {
	f.Add([]byte(reportXML))
	f.Add(gzipped(reportXML))
	f.Add(zipped("a.xml", reportXML, "b.xml", reportXML))
	f.Add(zipped("a.gz", string(gzipped(reportXML))))
	f.Add([]byte(mail("application/gzip", "base64", lines64(gzipped(reportXML)))))
	f.Add([]byte(lines64(gzipped(reportXML))))
	f.Add([]byte(utf16le(reportXML)))
	f.Add(overlapping(3))
	f.Add([]byte(mailbox(mail("application/gzip", "base64", lines64(gzipped(reportXML))), mail("text/xml", "7bit", reportXML))))
	f.Add(tarred("a.xml", reportXML, "b.xml.gz", string(gzipped(reportXML))))
	f.Add(gzipped(string(tarred("a.xml", reportXML))))
	f.Add(append(gzipped(reportXML+"\n"+reportXML), gzipped(reportXML)...))
	f.Add(append(zipped("a.xml", reportXML), tarred("a.xml", reportXML)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		check(t, data)
		r, err := Read(data, func(*Record) error { return nil })
		packed, perr := Read(gzipped(string(data)), func(*Record) error { return nil })
		if err == nil && perr == nil {
			require.Len(t, packed.Reports, len(r.Reports))
			for i := range r.Reports {
				require.Equal(t, append([]Container{Gzip}, r.Reports[i].Container...), packed.Reports[i].Container)
				require.Equal(t, r.Reports[i].Read, packed.Reports[i].Read)
			}
		}
	})
}
