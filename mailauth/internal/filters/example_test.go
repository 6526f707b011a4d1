package filters_test

import (
	"fmt"

	"github.com/diagkit/diagkit/mailauth/internal/filters"
	"github.com/diagkit/diagkit/mailauth/message"
)

func Example() {
	m := message.Split([]byte("X-Microsoft-Antispam: BCL:7;\n"))
	for _, v := range filters.Read(m) {
		fmt.Println(v.String())
	}
	// Output: X-Microsoft-Antispam of microsoft says: bulk mail, score 7 (BCL 7: from a bulk sender with a mixed number of complaints).
}
