package carillon.store.deadletters;

import carillon.model.TenantId;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import carillon.store.tasks.FilterSql;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * How a search of dead letters runs: the index to scan, and the conditions that the index does not
 * decide.
 *
 * @param prefix values of the index columns before {@code died_at, task}
 * @param groups the groups to scan, one index range each; empty unless the access is by group
 * @param readsTasks whether a condition needs the task of each letter
 */
record LetterPlan(
    Access access,
    List<@Nullable Object> prefix,
    List<Group> groups,
    List<String> conditions,
    List<@Nullable Object> arguments,
    boolean readsTasks) {

  /** A tenant with more groups than this is searched without them. */
  private static final int MAX_GROUPS = 5_000;

  /** An index, by its columns before {@code died_at, task} and what they are compared with. */
  enum Access {
    BY_AGE("d.tenant", "?"),
    BY_TYPE("d.tenant, d.type", "?, ?"),
    BY_KEY("d.tenant, d.key", "?, ?"),
    BY_GROUP("d.tenant, d.type, d.fingerprint", "?, g.type, g.fingerprint"),
    BY_ID("d.tenant", "?");

    final String columns;
    final String values;

    Access(String columns, String values) {
      this.columns = columns;
      this.values = values;
    }
  }

  record Group(String type, String fingerprint) {}

  /** A statement assembled for one filter. */
  record Query(String sql, List<@Nullable Object> arguments) {}

  /** The conditions of a filter; a null argument adds none. */
  static final class Conditions {
    final List<String> sql = new ArrayList<>();
    final List<@Nullable Object> arguments = new ArrayList<>();

    void add(String condition, @Nullable Object argument) {
      if (argument != null) {
        sql.add(condition);
        arguments.add(argument);
      }
    }

    /** Adds a condition that has the same parameter twice. */
    void addTwice(String condition, @Nullable Object argument) {
      add(condition, argument);
      if (argument != null) {
        arguments.add(argument);
      }
    }
  }

  boolean hasConditions() {
    return !conditions.isEmpty();
  }

  LetterPlan only(Group group) {
    return new LetterPlan(access, prefix, List.of(group), conditions, arguments, readsTasks);
  }

  // The error first: a letter whose error contains the text needs no read of its task.
  private static final String HAS_TEXT =
      """
      CASE WHEN strpos(lower(d.error), lower(?)) > 0 THEN true
             ELSE (SELECT strpos(lower(left(t.output, %d)), lower(?)) > 0
                   FROM carillon.task t
                   WHERE t.tenant = d.tenant AND t.id = d.task AND t.partition = d.partition) END\
      """
          .formatted(FilterSql.SEARCHED_RESPONSE_CHARS);

  static LetterPlan of(Tx tx, TenantId tenant, DeadLetterFilter filter) {
    Access access = Access.BY_AGE;
    List<@Nullable Object> prefix = new ArrayList<>(List.of(tenant));
    List<Group> groups = List.of();
    if (!filter.ids().isEmpty()) {
      access = Access.BY_ID;
    } else if (filter.key() != null) {
      access = Access.BY_KEY;
      prefix.add(filter.key());
    } else {
      Optional<List<Group>> matching =
          filter.selectsGroups() ? groups(tx, tenant, filter) : Optional.empty();
      if (matching.isPresent()) {
        access = Access.BY_GROUP;
        groups = matching.get();
      } else if (filter.type() != null) {
        access = Access.BY_TYPE;
        prefix.add(filter.type());
      }
    }
    Conditions conditions = new Conditions();
    if (access != Access.BY_GROUP && access != Access.BY_TYPE) {
      conditions.add("d.type = ?", filter.type());
    }
    if (access != Access.BY_GROUP) {
      conditions.add("d.failure = ?", filter.failure() == null ? null : filter.failure().name());
      conditions.add("d.status = ?", filter.status());
      conditions.add("d.fingerprint = ?", filter.group());
    }
    if (access != Access.BY_KEY) {
      conditions.add("d.key = ?", filter.key());
    }
    conditions.addTwice(HAS_TEXT, filter.error());
    // Not EXISTS: that would first read all tasks with such metadata.
    conditions.add(
        """
        (SELECT t.metadata @> ?::jsonb
            FROM carillon.task t
            WHERE t.tenant = d.tenant AND t.id = d.task AND t.partition = d.partition)\
        """,
        Sql.json(filter.metadata()));
    boolean readsTasks = filter.error() != null || !filter.metadata().isEmpty();
    return new LetterPlan(access, prefix, groups, conditions.sql, conditions.arguments, readsTasks);
  }

  private static final String GROUPS =
      """
      /* LetterPlan.groups */
      SELECT g.type, g.fingerprint, g.letters > 0 AND {matches} AS matches
      FROM (
          SELECT *
          FROM carillon.dead_letter_group g
          WHERE {where}
          LIMIT ?
      ) g
      """;

  // One index lookup for each type of the tenant.
  private static final String BY_FINGERPRINT =
      """
      g.tenant = ?
            AND g.type IN (SELECT l.type FROM carillon.lane l WHERE l.tenant = ?)
            AND g.fingerprint = ?\
      """;

  static Query groupQuery(TenantId tenant, DeadLetterFilter filter) {
    Conditions conditions = new Conditions();
    conditions.add("g.failure = ?", filter.failure() == null ? null : filter.failure().name());
    conditions.add("g.status = ?", filter.status());
    String where;
    List<@Nullable Object> arguments = new ArrayList<>(conditions.arguments);
    arguments.add(tenant);
    if (filter.type() == null && filter.group() != null) {
      where = BY_FINGERPRINT;
      arguments.add(tenant);
      arguments.add(filter.group());
    } else {
      where = "g.tenant = ?";
      if (filter.type() != null) {
        where += " AND g.type = ?";
        arguments.add(filter.type());
      }
      if (filter.group() != null) {
        where += " AND g.fingerprint = ?";
        arguments.add(filter.group());
      }
    }
    arguments.add(MAX_GROUPS + 1);
    String matches = conditions.sql.isEmpty() ? "true" : String.join(" AND ", conditions.sql);
    return new Query(GROUPS.replace("{matches}", matches).replace("{where}", where), arguments);
  }

  /** The groups that match, or empty if there are too many to read. */
  private static Optional<List<Group>> groups(Tx tx, TenantId tenant, DeadLetterFilter filter) {
    Query query = groupQuery(tenant, filter);
    List<Optional<Group>> found =
        tx.query(
            query.sql(),
            row ->
                row.getBoolean("matches")
                    ? Optional.of(new Group(row.getString("type"), row.getString("fingerprint")))
                    : Optional.empty(),
            query.arguments().toArray());
    return found.size() > MAX_GROUPS
        ? Optional.empty()
        : Optional.of(found.stream().flatMap(Optional::stream).toList());
  }
}
