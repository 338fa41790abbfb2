package carillon.store.deadletters;

import carillon.model.TenantId;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import carillon.store.tasks.FilterSql;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Where to walk along, and what still has to be asked of each letter there. */
record LetterPlan(
    Way way,
    List<@Nullable Object> prefix,
    List<Kind> kinds,
    List<String> questions,
    List<@Nullable Object> answers,
    boolean asksTasks) {

  /** A tenant with more groups than this is searched without them. */
  private static final int MOST_GROUPS = 5_000;

  /**
   * An index to walk along, by the columns that it has before {@code died_at, task}; each with what
   * it is compared with.
   */
  enum Way {
    BY_AGE("d.tenant", "?"),
    BY_TYPE("d.tenant, d.type", "?, ?"),
    BY_KEY("d.tenant, d.key", "?, ?"),
    BY_KIND("d.tenant, d.type, d.fingerprint", "?, g.type, g.fingerprint"),
    BY_ID("d.tenant", "?");

    final String columns;
    final String values;

    Way(String columns, String values) {
      this.columns = columns;
      this.values = values;
    }
  }

  /** Letters that died of the same thing. */
  record Kind(String type, String fingerprint) {}


  boolean asks() {
    return !questions.isEmpty();
  }

  LetterPlan only(Kind kind) {
    return new LetterPlan(way, prefix, List.of(kind), questions, answers, asksTasks);
  }

  /** A statement made of the parts that a filter has. */
  record Composed(String sql, List<@Nullable Object> arguments) {}

  static final class Questions {
    final List<String> sql = new ArrayList<>();
    final List<@Nullable Object> arguments = new ArrayList<>();

    void ask(String question, @Nullable Object argument) {
      if (argument != null) {
        sql.add(question);
        arguments.add(argument);
      }
    }

    /** The same for a question that has it twice. */
    void askTwice(String question, @Nullable Object argument) {
      ask(question, argument);
      if (argument != null) {
        arguments.add(argument);
      }
    }
  }

  // In this order: whose error has it is not looked up.
  private static final String HAS_TEXT =
      """
      CASE WHEN strpos(lower(d.error), lower(?)) > 0 THEN true
             ELSE (SELECT strpos(lower(left(t.output, %d)), lower(?)) > 0
                   FROM carillon.task t
                   WHERE t.tenant = d.tenant AND t.id = d.task AND t.partition = d.partition) END\
      """
          .formatted(FilterSql.ANSWER_CHARS);

  static LetterPlan of(Tx tx, TenantId tenant, DeadLetterFilter filter) {
    Way way = Way.BY_AGE;
    List<@Nullable Object> prefix = new ArrayList<>(List.of(tenant));
    List<Kind> kinds = List.of();
    if (!filter.ids().isEmpty()) {
      way = Way.BY_ID;
    } else if (filter.key() != null) {
      way = Way.BY_KEY;
      prefix.add(filter.key());
    } else {
      Optional<List<Kind>> known =
          filter.isAboutGroups() ? kinds(tx, tenant, filter) : Optional.empty();
      if (known.isPresent()) {
        way = Way.BY_KIND;
        kinds = known.get();
      } else if (filter.type() != null) {
        way = Way.BY_TYPE;
        prefix.add(filter.type());
      }
    }
    boolean typeIsOpen = way == Way.BY_AGE || way == Way.BY_KEY || way == Way.BY_ID;
    Questions questions = new Questions();
    questions.ask("d.type = ?", typeIsOpen ? filter.type() : null);
    if (way != Way.BY_KIND) {
      questions.ask("d.failure = ?", filter.failure() == null ? null : filter.failure().name());
      questions.ask("d.status = ?", filter.status());
      questions.ask("d.fingerprint = ?", filter.group());
    }
    questions.ask("d.key = ?", way == Way.BY_KEY ? null : filter.key());
    questions.askTwice(HAS_TEXT, filter.error());
    // Not EXISTS: that would read all tasks that have such metadata first.
    questions.ask(
        """
        (SELECT t.metadata @> ?::jsonb
            FROM carillon.task t
            WHERE t.tenant = d.tenant AND t.id = d.task AND t.partition = d.partition)\
        """,
        Sql.json(filter.metadata()));
    boolean asksTasks = filter.error() != null || !filter.metadata().isEmpty();
    return new LetterPlan(way, prefix, kinds, questions.sql, questions.arguments, asksTasks);
  }

  private static final String KINDS =
      """
      /* LetterPlan.kinds */
      SELECT g.type, g.fingerprint, g.letters > 0 AND {matches} AS matches
      FROM (
          SELECT *
          FROM carillon.dead_letter_group g
          WHERE {where}
          LIMIT ?
      ) g
      """;

  // One jump for each type that there is.
  private static final String KINDS_OF_FINGERPRINT =
      """
      g.tenant = ?
            AND g.type IN (SELECT l.type FROM carillon.lane l WHERE l.tenant = ?)
            AND g.fingerprint = ?\
      """;

  static Composed composeKinds(TenantId tenant, DeadLetterFilter filter) {
    Questions questions = new Questions();
    questions.ask("g.failure = ?", filter.failure() == null ? null : filter.failure().name());
    questions.ask("g.status = ?", filter.status());
    String where;
    List<@Nullable Object> arguments = new ArrayList<>(questions.arguments);
    arguments.add(tenant);
    if (filter.type() == null && filter.group() != null) {
      where = KINDS_OF_FINGERPRINT;
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
    arguments.add(MOST_GROUPS + 1);
    String matches = questions.sql.isEmpty() ? "true" : String.join(" AND ", questions.sql);
    return new Composed(KINDS.replace("{matches}", matches).replace("{where}", where), arguments);
  }

  /** Empty if there are too many groups to look through. */
  private static Optional<List<Kind>> kinds(Tx tx, TenantId tenant, DeadLetterFilter filter) {
    Composed kinds = composeKinds(tenant, filter);
    List<Optional<Kind>> found =
        tx.query(
            kinds.sql(),
            row ->
                row.getBoolean("matches")
                    ? Optional.of(new Kind(row.getString("type"), row.getString("fingerprint")))
                    : Optional.empty(),
            kinds.arguments().toArray());
    return found.size() > MOST_GROUPS
        ? Optional.empty()
        : Optional.of(found.stream().flatMap(Optional::stream).toList());
  }
}
