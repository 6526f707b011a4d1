package postgresdb

import (
	"context"
	"crypto/rand"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Scratch makes an empty schema in a database, for a test or a measurement. It returns the URL of the database with
// that schema first, and what drops it with all that it then holds.
func Scratch(ctx context.Context, text string) (scratch string, drop func() error, err error) {
	config, err := parse(text)
	if err != nil {
		return "", nil, err
	}
	schema := "diagkit_scratch_" + strings.ToLower(rand.Text())
	execute := func(sql string) error {
		ctx := context.WithoutCancel(ctx) // a schema must not stay because a test has ended
		return use(ctx, config.ConnConfig, func(conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, sql)
			return err
		})
	}
	if err := execute("CREATE SCHEMA " + schema); err != nil {
		return "", nil, err
	}
	u, err := url.Parse(text)
	if err != nil {
		return "", nil, err
	}
	query := u.Query()
	query.Set("search_path", schema)
	u.RawQuery = query.Encode()
	return u.String(), func() error { return execute("DROP SCHEMA " + schema + " CASCADE") }, nil
}
