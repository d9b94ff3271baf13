package sqlretry_test

import (
	"context"
	"database/sql"
	"fmt"

	"example.com/backoff"
	"example.com/backoff/sqlretry"
)

// In MySQL, a statement that waits for a lock goes on in the server after its context has ended. The settings in the DSN
// end it after a second.
const dsn = "user:password@tcp(host)/bank?innodb_lock_wait_timeout=1&lock_wait_timeout=1"

var accounts = sqlretry.Options{
	Slots: new(backoff.Slots), // for all transactions on this database; they keep it from filling up with such statements
}

// transfer moves money between two accounts. If the database wants the transaction repeated, both statements run again.
func transfer(ctx context.Context, db *sql.DB, from, to string, amount int) error {
	return sqlretry.Do(ctx, db, accounts, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE account SET amount = amount - ? WHERE name = ?", amount, from)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE account SET amount = amount + ? WHERE name = ?", amount, to)
		return err
	})
}

func Example() {
	db, err := sql.Open("mysql", dsn) // the driver github.com/go-sql-driver/mysql
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(transfer(context.Background(), db, "Alice", "Bob", 30))
}
