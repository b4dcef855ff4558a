package restore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// inWindow returns an error unless a table can be restored to the moment.
func (r *Restore) inWindow(ctx context.Context, table string) error {
	out, err := r.Account.tables.DescribeContinuousBackups(ctx, &dynamodb.DescribeContinuousBackupsInput{TableName: &table})
	if err != nil {
		return fmt.Errorf("read the backups of table %s: %w", table, err)
	}
	var p types.PointInTimeRecoveryDescription
	if d := out.ContinuousBackupsDescription; d != nil && d.PointInTimeRecoveryDescription != nil {
		p = *d.PointInTimeRecoveryDescription
	}
	if p.PointInTimeRecoveryStatus != types.PointInTimeRecoveryStatusEnabled || p.EarliestRestorableDateTime == nil || p.LatestRestorableDateTime == nil {
		return fmt.Errorf("table %s has no point-in-time recovery, so it cannot be restored", table)
	}
	if r.To.Before(*p.EarliestRestorableDateTime) || r.To.After(*p.LatestRestorableDateTime) {
		return fmt.Errorf("table %s cannot be restored to %s: want a moment from %s to %s. The latest one is usually five minutes ago", table, moment(r.To),
			moment(p.EarliestRestorableDateTime.Add(time.Second-1)), moment(*p.LatestRestorableDateTime))
	}
	return nil
}

// between is how often the state of a table is asked for.
const between = 5 * time.Second

// tables restores both tables and waits until they can be used.
func (r *Restore) tables(ctx context.Context) error {
	for _, t := range r.state.Tables {
		if err := r.restoreTable(ctx, t); err != nil {
			return err
		}
	}
	for _, t := range r.state.Tables {
		if err := r.active(ctx, t.Target); err != nil {
			return err
		}
		fmt.Fprintf(r.Out, "  %s has the items of %s\n", t.Target, t.Source)
	}
	return nil
}

// restoreTable begins the restore of one table, unless it has begun.
func (r *Restore) restoreTable(ctx context.Context, t copied) error {
	there, err := r.describe(ctx, t.Target)
	var missing *types.ResourceNotFoundException
	switch {
	case err == nil:
		s := there.RestoreSummary
		if s == nil || !aws.ToTime(s.RestoreDateTime).Equal(r.To) || !strings.HasSuffix(aws.ToString(s.SourceTableArn), "table/"+t.Source) {
			return fmt.Errorf("table %s exists and is not a copy of %s at %s: delete it, or choose another second", t.Target, t.Source, moment(r.To))
		}
		return nil
	case !errors.As(err, &missing):
		return err
	}
	_, err = r.Account.tables.RestoreTableToPointInTime(ctx, &dynamodb.RestoreTableToPointInTimeInput{
		SourceTableName: &t.Source, TargetTableName: &t.Target, RestoreDateTime: aws.Time(r.To), BillingModeOverride: types.BillingModePayPerRequest,
	})
	if err != nil {
		return fmt.Errorf("restore table %s: %w", t.Source, err)
	}
	return nil
}

func (r *Restore) describe(ctx context.Context, table string) (*types.TableDescription, error) {
	out, err := r.Account.tables.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		return nil, fmt.Errorf("describe table %s: %w", table, err)
	}
	return out.Table, nil
}

// active waits until a table and its indexes can be used.
func (r *Restore) active(ctx context.Context, table string) error {
	for said := false; ; said = true {
		d, err := r.describe(ctx, table)
		if err != nil {
			return err
		}
		ready := d.TableStatus == types.TableStatusActive
		for _, index := range d.GlobalSecondaryIndexes {
			ready = ready && (index.IndexStatus == types.IndexStatusActive || index.IndexStatus == "")
		}
		if ready {
			return nil
		}
		if !said {
			fmt.Fprintf(r.Out, "  waits for table %s, which can take an hour or more\n", table)
		}
		if err := r.Sleep(ctx, between); err != nil {
			return err
		}
	}
}

// settings applies to each restored table what its source has and a restore leaves out.
func (r *Restore) settings(ctx context.Context) error {
	for _, t := range r.state.Tables {
		for _, apply := range []func(context.Context, copied) error{r.throughput, r.timeToLive, r.backups, r.tags} {
			if err := apply(ctx, t); err != nil {
				return fmt.Errorf("table %s: %w", t.Target, err)
			}
		}
	}
	return nil
}

// throughput applies the maximum of units per second and the protection against deletion.
func (r *Restore) throughput(ctx context.Context, t copied) error {
	from, err := r.describe(ctx, t.Source)
	if err != nil {
		return err
	}
	to, err := r.describe(ctx, t.Target)
	if err != nil {
		return err
	}
	in := dynamodb.UpdateTableInput{TableName: &t.Target}
	changed := false
	if aws.ToBool(from.DeletionProtectionEnabled) != aws.ToBool(to.DeletionProtectionEnabled) {
		in.DeletionProtectionEnabled, changed = aws.Bool(aws.ToBool(from.DeletionProtectionEnabled)), true
	}
	want, have := maximum(from), maximum(to)
	if want != have {
		in.OnDemandThroughput, changed = &types.OnDemandThroughput{MaxReadRequestUnits: &want.reads, MaxWriteRequestUnits: &want.writes}, true
	}
	if !changed {
		return nil
	}
	if _, err := r.Account.tables.UpdateTable(ctx, &in); err != nil {
		return err
	}
	return r.active(ctx, t.Target)
}

// units are the most that a table may use per second; -1: no maximum.
type units struct{ reads, writes int64 }

func maximum(d *types.TableDescription) units {
	u := units{-1, -1}
	if o := d.OnDemandThroughput; o != nil {
		if o.MaxReadRequestUnits != nil {
			u.reads = *o.MaxReadRequestUnits
		}
		if o.MaxWriteRequestUnits != nil {
			u.writes = *o.MaxWriteRequestUnits
		}
	}
	return u
}

func (r *Restore) timeToLive(ctx context.Context, t copied) error {
	from, err := r.expiry(ctx, t.Source)
	if err != nil || from == "" {
		return err
	}
	to, err := r.expiry(ctx, t.Target)
	if err != nil || to == from {
		return err
	}
	_, err = r.Account.tables.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName: &t.Target, TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &from, Enabled: aws.Bool(true)},
	})
	return err
}

// expiry is the attribute with which items of a table expire, empty if they do not.
func (r *Restore) expiry(ctx context.Context, table string) (string, error) {
	out, err := r.Account.tables.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &table})
	if err != nil {
		return "", err
	}
	d := out.TimeToLiveDescription
	if d == nil || d.TimeToLiveStatus != types.TimeToLiveStatusEnabled && d.TimeToLiveStatus != types.TimeToLiveStatusEnabling {
		return "", nil
	}
	return aws.ToString(d.AttributeName), nil
}

// backups turns point-in-time recovery on, with the period of the source. It is refused while
// DynamoDB prepares it for a new table.
func (r *Restore) backups(ctx context.Context, t copied) error {
	in := &dynamodb.UpdateContinuousBackupsInput{TableName: &t.Target, PointInTimeRecoverySpecification: &types.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: aws.Bool(true)}}
	out, err := r.Account.tables.DescribeContinuousBackups(ctx, &dynamodb.DescribeContinuousBackupsInput{TableName: &t.Source})
	if err != nil {
		return err
	}
	if d := out.ContinuousBackupsDescription; d != nil && d.PointInTimeRecoveryDescription != nil {
		in.PointInTimeRecoverySpecification.RecoveryPeriodInDays = d.PointInTimeRecoveryDescription.RecoveryPeriodInDays
	}
	for {
		_, err := r.Account.tables.UpdateContinuousBackups(ctx, in)
		var early *types.ContinuousBackupsUnavailableException
		if !errors.As(err, &early) {
			return err
		}
		if err := r.Sleep(ctx, between); err != nil {
			return err
		}
	}
}

// tags copies the tags of the source. AWS refuses those that it has set itself.
func (r *Restore) tags(ctx context.Context, t copied) error {
	from, err := r.describe(ctx, t.Source)
	if err != nil {
		return err
	}
	to, err := r.describe(ctx, t.Target)
	if err != nil {
		return err
	}
	var own []types.Tag
	for in := (&dynamodb.ListTagsOfResourceInput{ResourceArn: from.TableArn}); ; {
		page, err := r.Account.tables.ListTagsOfResource(ctx, in)
		if err != nil {
			return err
		}
		for _, tag := range page.Tags {
			if !strings.HasPrefix(aws.ToString(tag.Key), "aws:") {
				own = append(own, tag)
			}
		}
		if page.NextToken == nil {
			break
		}
		in.NextToken = page.NextToken
	}
	if len(own) == 0 {
		return nil
	}
	_, err = r.Account.tables.TagResource(ctx, &dynamodb.TagResourceInput{ResourceArn: to.TableArn, Tags: own})
	return err
}
