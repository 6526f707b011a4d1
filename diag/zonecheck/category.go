package zonecheck

import "github.com/diagkit/diagkit/diag"

// Category is what a rule is about.
type Category string

// The factors of the score.
var (
	categoryParent     = diag.Category{Code: "parent", Label: "Parent zone"}
	categoryDelegation = diag.Category{Code: "delegation", Label: "Delegation"}
	categoryGlue       = diag.Category{Code: "glue", Label: "Glue"}
	categoryNameserver = diag.Category{Code: "nameserver", Label: "Name servers"}
	categorySOA        = diag.Category{Code: "soa", Label: "SOA record"}
	categoryTransport  = diag.Category{Code: "transport", Label: "Transport"}
	categorySecurity   = diag.Category{Code: "security", Label: "Security"}
	categoryRecords    = diag.Category{Code: "records", Label: "Records"}
	categoryMail       = diag.Category{Code: "mail", Label: "Mail"}
)

// Values lists the categories.
func (Category) Values() (codes []string) {
	for _, c := range []diag.Category{categoryParent, categoryDelegation, categoryGlue, categoryNameserver, categorySOA,
		categoryTransport, categorySecurity, categoryRecords, categoryMail} {
		codes = append(codes, c.Code)
	}
	return codes
}
