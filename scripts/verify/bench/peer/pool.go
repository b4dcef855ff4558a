package main

import (
	"context"
	"database/sql"
	"strings"
	"sync/atomic"

	"gorm.io/gorm"
)

// pool is the file's connections, which count syncs: with synchronous=FULL SQLite syncs its
// write-ahead log once for each transaction that writes. The syncs of checkpoints, one or
// two for each thousand pages, are not counted.
type pool struct {
	*sql.DB
	syncs atomic.Int64
}

// open opens a file with the write-ahead log, whose every transaction is on the disk when
// it returns.
func open(path string) (*pool, error) {
	db, err := sql.Open("sqlite", path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(60000)&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // faster than several, which wait for the file's lock
	return &pool{DB: db}, nil
}

// syncWrites says whether a transaction that returns is on the disk.
func (p *pool) syncWrites(ctx context.Context, synced bool) error {
	level := "OFF"
	if synced {
		level = "FULL"
	}
	_, err := p.ExecContext(ctx, "PRAGMA synchronous="+level)
	return err
}

// BeginTx implements [gorm.ConnPoolBeginner].
func (p *pool) BeginTx(ctx context.Context, options *sql.TxOptions) (gorm.ConnPool, error) {
	tx, err := p.DB.BeginTx(ctx, options)
	if err != nil {
		return nil, err
	}
	return &transaction{Tx: tx, pool: p}, nil
}

// transaction is one that counts when it is committed and has written.
type transaction struct {
	*sql.Tx
	pool  *pool
	wrote bool
}

// ExecContext implements [gorm.ConnPool].
func (t *transaction) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	t.wrote = true
	return t.Tx.ExecContext(ctx, query, args...)
}

// QueryContext implements [gorm.ConnPool]. A write that returns values is a query.
func (t *transaction) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	t.wrote = t.wrote || !strings.HasPrefix(query, "SELECT")
	return t.Tx.QueryContext(ctx, query, args...)
}

// Commit implements [gorm.TxCommitter].
func (t *transaction) Commit() error {
	if t.wrote {
		t.pool.syncs.Add(1)
	}
	return t.Tx.Commit()
}
