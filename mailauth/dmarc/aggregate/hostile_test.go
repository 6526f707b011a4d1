package aggregate

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
)

const (
	begin = "<feedback>" + metadataXML + policyXML
	end   = "</feedback>"

	metadataXML = "<report_metadata><org_name>receiver.example</org_name><email>dmarc@receiver.example</email>" +
		"<report_id>1</report_id><date_range><begin>1793404800</begin><end>1793491199</end></date_range></report_metadata>"
	policyXML = "<policy_published><domain>example.com</domain><p>none</p></policy_published>"
	recordXML = "<record><row><source_ip>192.0.2.25</source_ip><count>10</count><policy_evaluated>" +
		"<disposition>none</disposition><dkim>pass</dkim><spf>fail</spf></policy_evaluated></row>" +
		"<identifiers><header_from>example.com</header_from></identifiers><auth_results>" +
		"<dkim><domain>example.com</domain><selector>s1</selector><result>pass</result></dkim>" +
		"<spf><domain>example.com</domain><result>fail</result></spf></auth_results></record>"
	reportXML = begin + recordXML + end
)

// A hostile file is designed to consume time or memory.
type hostile struct {
	name    string
	make    func() []byte
	limit   string  // the LimitError that it is, if it is one
	content content // or the NotReportError
	read    int     // or the records that are in it all the same
}

func hostileFiles() []hostile {
	const most = MaxSent - 1<<10
	upTo := func(size int, before, item, after string) func() []byte {
		return func() []byte {
			return []byte(before + strings.Repeat(item, (size-len(before)-len(after))/len(item)) + after)
		}
	}
	fill := func(before, item, after string) func() []byte { return upTo(most, before, item, after) }
	part := func(before, item, after string) func() []byte { return upTo(most/4, before, item, after) } // enough to tell
	names := func() []byte {
		b := bytes.NewBufferString(begin + recordXML)
		for i := 0; b.Len() < most; i++ {
			fmt.Fprintf(b, "<v%d>&e%d;", i, i)
		}
		return b.Bytes()
	}
	spaces := func(n int) string { return strings.Repeat(" ", n) }
	return []hostile{
		{"gzip of blanks", func() []byte { return times(100, gzipped(spaces(1<<20))) }, "", contentEmpty, 0},
		{"gzip of blanks in a report", func() []byte { return gzipped("<feedback>" + spaces(20<<20)) },
			"compression ratio", "", 0},
		{"gzip of gzip of blanks", func() []byte { return gzipped(string(gzipped("<feedback>" + spaces(20<<20)))) },
			"compression ratio", "", 0},
		{"more than the most", func() []byte {
			return append(gzipped("<feedback>"), times(110, gzipped(noise(10_000)+spaces(1<<20)))...)
		}, "expanded size", "", 0},
		{"many reports of faults", func() []byte {
			var faults strings.Builder
			for i := range maxFaults + 20 {
				for range maxPlaces {
					fmt.Fprintf(&faults, "<x%d>%s</x%[1]d>", i, noise(60))
				}
			}
			report := strings.Replace(begin, "</report_metadata>", strings.Repeat("<error>"+noise(maxText/2)+"</error>", maxErrors+1)+"</report_metadata>", 1) +
				faults.String() + recordXML + end
			var files []string
			for i := range maxReports {
				files = append(files, fmt.Sprintf("%d.xml", i), report)
			}
			return gzipped(string(tarred(files...)))
		}, "", "", -1},
		{"nested gzip", func() []byte {
			data := []byte(reportXML)
			for range maxNesting + 1 {
				data = gzipped(string(data))
			}
			return data
		}, "nesting", "", 0},
		{"zip in gzip", func() []byte {
			return gzipped(string(zipped("a", "<feedback>"+noise(1<<20),
				"b", noise(2<<20))))
		}, "", "", -1},
		{"large zip in gzip", func() []byte {
			return append(gzipped(string(zipLocal)), times(11, gzipped(noise(1<<20)))...)
		}, "size", "", 0},
		{"zip in gzip in a message", func() []byte {
			inner := append(gzipped(string(zipLocal)), times(9, gzipped(noise(1<<20)))...)
			return []byte("Content-Transfer-Encoding: base64\n\n" + base64.StdEncoding.EncodeToString(inner))
		}, "", contentEncrypted, 0}, // noise for a header
		{"zip of zips", func() []byte {
			return zipped("1.zip", string(overlapping(500)),
				"2.zip", string(overlapping(500)))
		},
			"compression ratio", "", 0},
		{"zip of many files", fill(string(zipLocal), string(zipCentral)+spaces(42), ""), "files", "", 0},
		{"overlapping files", func() []byte { return overlapping(900) }, "compression ratio", "", 0},
		{"entities", func() []byte {
			return []byte(`<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">` +
				strings.Repeat(`<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;">`, 1000) + "]>" + begin + strings.Replace(recordXML,
				"s1", strings.Repeat("&c;", 2<<20), 1) + end)
		}, "", "", 1},
		{"deep nesting", part(begin+recordXML, "<a>", ""), "", "", 1},
		{"deep nesting, closed", part(begin, "<a></b>", recordXML+end), "", "", -1},
		{"end tags", part(begin+recordXML+strings.Repeat("<a>", maxDepth), "</b>", ""), "", "", 1},
		{"large attribute", fill(begin+recordXML+`<a b="`, "c", `"/>`+recordXML+end), "", "", 2},
		{"attribute of a GiB in gzip", func() []byte {
			return append(gzipped(begin+recordXML+`<a b="`), times(1024, gzipped(strings.Repeat("c", 1<<20)))...)
		}, "expanded size", "", 0},
		{"tags that do not end", part(begin+recordXML, "<a ", end), "", "", 1},
		{"quotation marks", part(begin+recordXML, `<a "`, end), "", "", 1},
		{"less-than signs", part(begin+recordXML, "<", end), "", "", 1},
		{"ampersands", fill(begin+"<report_metadata><generator>", "&", "</generator></report_metadata>"+recordXML+end),
			"", "", 1},
		{"a large text", fill(begin+recordXML+"<version>", "a", ""), "", "", 1},
		{"a comment", fill(begin+recordXML+"<!--", "-", ""), "", "", 1},
		{"character data", fill(begin+recordXML+"<version><![CDATA[", "]", ""), "", "", 1},
		{"a document type", part("<!DOCTYPE [", "'\"<", "]>"+reportXML), "", contentText, 0},
		{"empty records", part(begin, "<record/>", end), "", "", 0},
		{"small records", fill(begin, "<record><count>1</count></record>", end), "", "", maxRecords},
		{"results", fill(begin+"<record><count>1</count><auth_results>", "<dkim><domain>a</domain></dkim>",
			"</auth_results></record>"),
			"", "", 1},
		{"names", names, "", "", 1},
		{"fields", fill("From: a\nSubject: b\n", " c\n", "\n"), "", contentMessage, 0},
		{"parts", part("Content-Type: multipart/mixed; boundary=b\n\n", "--b\n\n<a>\n", ""), "files", "", 0},
		{"nested parts", fill("", "Content-Type: multipart/mixed; boundary=b\n\n--b\n", ""), "files", "", 0},
		{"base64 in base64", func() []byte {
			inner := "Content-Transfer-Encoding: base64\n\n" +
				base64.StdEncoding.EncodeToString([]byte(reportXML+spaces(4<<20)))
			return []byte("Content-Transfer-Encoding: base64\n\n" + base64.StdEncoding.EncodeToString([]byte(inner)))
		}, "", "", 1},
		{"messages in messages", func() []byte {
			data := []byte(reportXML)
			for range maxNesting + 1 {
				data = append([]byte("Content-Type: message/rfc822\n\n"), data...)
			}
			return data
		}, "nesting", "", 0},
	}
}

func gzipped(text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.Bytes()
}

// times repeats data: members of a gzip file are one file.
func times(n int, data []byte) []byte { return bytes.Repeat(data, n) }

// zipped packs files, given as names and contents.
func zipped(files ...string) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		f, _ := w.Create(files[i])
		_, _ = io.WriteString(f, files[i+1])
	}
	_ = w.Close()
	return b.Bytes()
}

// overlapping returns an archive whose directory names the same file many times.
func overlapping(times int) []byte {
	data := zipped("a.xml", "<a>"+strings.Repeat("x", 1<<20))
	i, j := bytes.Index(data, zipCentral), bytes.Index(data, []byte("PK\x05\x06"))
	directory := bytes.Repeat(data[i:j], times)
	last := bytes.Clone(data[j:])
	binary.LittleEndian.PutUint16(last[8:], uint16(times))
	binary.LittleEndian.PutUint16(last[10:], uint16(times))
	binary.LittleEndian.PutUint32(last[12:], uint32(len(directory)))
	return bytes.Join([][]byte{data[:i], directory, last}, nil)
}

// noise is text that compresses little.
func noise(n int) string {
	text := make([]byte, n)
	x := uint32(1)
	for i := range text {
		x = x*1664525 + 1013904223
		text[i] = "0123456789abcdefghijklmnopqrstuv"[x>>27]
	}
	return string(text)
}
