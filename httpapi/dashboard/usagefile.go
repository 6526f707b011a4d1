package dashboard

import (
	"cmp"
	"context"
	"encoding/csv"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/metering"
)

// csvMedia is the media type of a CSV file (RFC 4180) whose first row has the names of columns.
const csvMedia = "text/csv; charset=utf-8; header=present"

// newCSV returns a writer of lines that end as RFC 4180 says.
func newCSV(w io.Writer) *csv.Writer {
	c := csv.NewWriter(w)
	c.UseCRLF = true
	return c
}

// usageColumns are those of the file.
var usageColumns = []string{"day", "key", "key_name", "endpoint", "credits", "charges_count"}

// showUsageFile sends the sums of a selection as CSV.
func (d *dashboard) showUsageFile(r *http.Request) (any, error) {
	s, err := d.parseSelection(r)
	if err != nil {
		return nil, err
	}
	account := sessionOf(r).Account.ID
	if _, err = d.Store.Balance(r.Context(), account, s.Month); err != nil { // while an error page is still possible
		return nil, err
	}
	return file{media: csvMedia, name: "usage-" + s.name() + ".csv",
		write: func(w io.Writer) error { return d.writeUsage(r.Context(), w, account, s) }}, nil
}

// commitDelay is how long after the end of a day its rows are written: charges are read in the order of their commit,
// which is not quite that of their completion. Later ones get rows of their own.
const commitDelay = time.Hour

// writeUsage writes the file day by day, since a month may have as many rows as charges.
func (d *dashboard) writeUsage(ctx context.Context, w io.Writer, account metering.AccountID, s selection) error {
	f := usageFile{Writer: newCSV(w), days: map[string]map[usageFileKey]metering.Total{}, names: map[string]string{},
		loadNames: func(ids []metering.KeyID) (map[string]string, error) { return d.keyNames(ctx, account, ids) }}
	_ = f.Write(usageColumns) // an error stays until Flush
	filter := s.filter(account)
	dayOf := func(at time.Time) string { return metering.HourOf(at, filter.Period).Format(time.DateOnly) }
	if !s.HasCharges() {
		return f.writeBefore("~")
	}
	begun := ""
	for e, err := range d.Store.Entries(ctx, filter) {
		if err != nil {
			return err
		}
		if day := dayOf(e.At.Add(-commitDelay)); day > begun {
			if err := f.writeBefore(day); err != nil {
				return err
			}
			begun = day
		}
		f.add(dayOf(e.At), usageFileKey{e.Key, e.Endpoint}, metering.Total{Credits: e.Credits, Charges: 1})
	}
	return f.writeBefore("~") // which is behind every day
}

// A usageFile is a file under way, with the days that are not written yet.
type usageFile struct {
	*csv.Writer
	days      map[string]map[usageFileKey]metering.Total
	names     map[string]string // of keys
	loadNames func([]metering.KeyID) (map[string]string, error)
}

// A usageFileKey is the key by which the charges of a day are summed.
type usageFileKey struct {
	key      metering.KeyID
	endpoint string
}

func (f *usageFile) add(day string, k usageFileKey, t metering.Total) {
	if f.days[day] == nil {
		f.days[day] = map[usageFileKey]metering.Total{}
	}
	f.days[day][k] = f.days[day][k].Plus(t)
}

// writeBefore writes the days before one.
func (f *usageFile) writeBefore(day string) error {
	for _, ended := range slices.Sorted(maps.Keys(f.days)) {
		if ended >= day {
			break
		}
		if err := f.writeDay(ended); err != nil {
			return err
		}
		delete(f.days, ended)
	}
	f.Flush()
	return f.Error()
}

func (f *usageFile) writeDay(day string) error {
	totals := f.days[day]
	rows := slices.SortedFunc(maps.Keys(totals), func(a, b usageFileKey) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.endpoint, b.endpoint))
	})
	var unknown []metering.KeyID
	for _, row := range rows {
		if _, known := f.names[string(row.key)]; !known {
			unknown = append(unknown, row.key)
		}
	}
	names, err := f.loadNames(unknown)
	if err != nil {
		return err
	}
	maps.Copy(f.names, names)
	for _, row := range rows {
		_ = f.Write([]string{day, string(row.key), render.CSVCell(f.names[string(row.key)]), render.CSVCell(row.endpoint),
			strconv.FormatInt(totals[row].Credits, 10), strconv.FormatInt(totals[row].Charges, 10)})
	}
	return nil
}
