package main

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"github.com/diagkit/diagkit/diag/kit"
	"slices"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view/render"
)

// csvColumns are those of --csv (RFC 4180), in their order. New ones are added at the end.
var csvColumns = []string{
	"target", "operation", "state", "score", "critical", "errors", "warnings", "headline", "do_first", "unknown",
}

// csvRow is the row of a target, without a failure or instead of an outcome.
func csvRow(line string, o outcome, failure error) []string {
	row := map[string]string{"target": line, "operation": o.title()}
	if failure != nil {
		row["unknown"] = strings.Join(errorLines(failure), "; ")
	} else {
		v := o.view
		row["state"], row["headline"] = string(v.State), v.Headline
		if v.Score != nil {
			row["score"] = strconv.Itoa(*v.Score)
		}
		counts := map[diag.Severity]int{}
		for _, f := range slices.Concat(v.Findings, v.Better) {
			counts[f.Severity]++
		}
		for column, severity := range map[string]diag.Severity{
			"critical": diag.Critical, "errors": diag.Error, "warnings": diag.Warning,
		} {
			row[column] = strconv.Itoa(counts[severity])
		}
		if len(v.Steps) > 0 {
			row["do_first"] = cmp.Or(v.Steps[0].Text, v.Steps[0].Title)
		}
		if v.Partial {
			row["unknown"] = "a part could not be measured"
		}
	}
	return kit.Map(csvColumns, func(column string) string { return render.CSVCell(row[column]) })
}

// csvLine writes one row.
func csvLine(row []string) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	if w.Write(row) != nil { // a buffer takes all
		return nil
	}
	w.Flush()
	return b.Bytes()
}
