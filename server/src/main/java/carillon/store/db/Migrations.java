package carillon.store.db;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import org.flywaydb.core.Flyway;
import org.flywaydb.core.api.FlywayException;
import org.flywaydb.core.api.MigrationInfo;
import org.flywaydb.core.api.MigrationVersion;
import org.flywaydb.core.api.configuration.FluentConfiguration;
import org.jspecify.annotations.Nullable;

/** Brings the schema forward, with Flyway, and back, with reverse scripts of our own. */
public final class Migrations {

  private static final String FORWARD = "migrations/forward";
  private static final String BACK = "migrations/back";

  private final Db.Address address;

  private Migrations(Db.Address address) {
    this.address = address;
  }

  public static Migrations open(Db.Address address) {
    return new Migrations(address);
  }

  public static Migrations open(String jdbcUrl, String user, @Nullable String password) {
    return open(new Db.Address(jdbcUrl, user, password));
  }

  /**
   * One migration to apply or to revert.
   *
   * @param version of the migration itself; going back over it leads to the one before
   */
  public record Step(int version, String name, boolean forward, String sql) {}

  /** The steps to this version, or to the latest. */
  public List<Step> plan(OptionalInt to) {
    int current = current();
    List<MigrationInfo> known = known();
    int latest = number(known.getLast());
    int goal = to.orElse(latest);
    if (goal < 0 || goal > latest) {
      throw new StoreException(
          "there is no version " + goal + " of the schema: the latest is " + latest);
    }
    List<Step> steps = new ArrayList<>();
    for (MigrationInfo info : known) {
      int version = number(info);
      if (version > current && version <= goal) {
        steps.add(step(info, true));
      } else if (version <= current && version > goal) {
        steps.addFirst(step(info, false));
      }
    }
    return steps;
  }

  /**
   * Applies {@link #plan}, each step in a transaction of its own. If one fails, the database is at
   * the version before it, and the next call continues from there.
   */
  public void apply(OptionalInt to) {
    List<Step> steps = plan(to);
    boolean isForward = steps.stream().allMatch(Step::forward);
    if (!isForward) {
      steps.forEach(this::takeBack);
      return;
    }
    known().stream()
        .filter(info -> info.isApplied() && !info.isChecksumMatching())
        .forEach(Migrations::refuse);
    try {
      flyway(to).migrate();
    } catch (FlywayException e) {
      throw new StoreException(whatFailed(steps, e), null, e);
    }
  }

  /** The failed migration, the cause, the state of the database, and what to do. */
  private String whatFailed(List<Step> steps, FlywayException e) {
    String reason = reason(e);
    int current;
    try {
      current = current();
    } catch (StoreException _) {
      return "migration failed: "
          + reason
          + "; start again when the database is reachable: finished migrations stay applied";
    }
    return steps.stream()
        .filter(step -> step.version() > current)
        .findFirst()
        .map(
            step ->
                "migration %s failed: %s; the database is at version %d and has nothing of %d:"
                        .formatted(step.name(), reason, current, step.version())
                    + " remove the cause and start again")
        .orElse("migration failed: " + reason);
  }

  /** In one line: Flyway's own message about a migration that differs has six. */
  private static void refuse(MigrationInfo info) {
    throw new StoreException(
        ("migration %s of this database differs from the program's (checksum %d, here %d):"
                + " another build created it. Start that build, or use another database")
            .formatted(scriptName(info), info.getAppliedChecksum(), info.getResolvedChecksum()));
  }

  /** The version of the database; 0 without a schema. */
  public int current() {
    try {
      MigrationInfo current = flyway(OptionalInt.empty()).info().current();
      return current == null || current.getVersion() == null ? 0 : number(current);
    } catch (FlywayException e) {
      throw new StoreException("cannot read the schema's version: " + reason(e), null, e);
    }
  }

  /** The version that this program was written for. */
  public int latest() {
    return number(known().getLast());
  }

  private List<MigrationInfo> known() {
    List<MigrationInfo> known = new ArrayList<>();
    for (MigrationInfo info : flyway(OptionalInt.empty()).info().all()) {
      boolean isVersioned = info.getVersion() != null && !info.getScript().startsWith("<<");
      if (isVersioned) {
        known.add(info);
      }
    }
    known.sort(Comparator.comparingInt(Migrations::number));
    return known;
  }

  private Flyway flyway(OptionalInt to) {
    FluentConfiguration configuration =
        Flyway.configure()
            .dataSource(MigrationConnection.source(address))
            .locations("classpath:" + FORWARD)
            .schemas("carillon")
            .createSchemas(true)
            .table("migration")
            .validateOnMigrate(true)
            // A lock per transaction and not per session: it works behind a pooler.
            .configuration(Map.of("flyway.postgresql.transactional.lock", "true"));
    to.ifPresent(
        version -> configuration.target(MigrationVersion.fromVersion(String.valueOf(version))));
    return configuration.load();
  }

  private static int number(MigrationInfo info) {
    return Integer.parseInt(info.getVersion().getVersion());
  }

  private static String scriptName(MigrationInfo info) {
    return info.getScript().replaceFirst("^V", "");
  }

  private static Step step(MigrationInfo info, boolean forward) {
    String name = scriptName(info);
    String path = forward ? FORWARD + "/V" + name : BACK + "/" + name;
    return new Step(number(info), name, forward, resource(path));
  }

  private static String resource(String path) {
    try (InputStream in = Migrations.class.getClassLoader().getResourceAsStream(path)) {
      if (in == null) {
        throw new StoreException("the migration " + path + " is missing from the program");
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void takeBack(Step step) {
    // A step back may rewrite whole tables, which may take any time.
    try (Connection connection = ConnectionSource.of(address, Duration.ZERO).getConnection()) {
      connection.setAutoCommit(false);
      try (Statement statement = connection.createStatement();
          PreparedStatement forget =
              connection.prepareStatement("DELETE FROM carillon.migration WHERE version = ?")) {
        statement.execute(step.sql());
        forget.setString(1, String.valueOf(step.version()));
        forget.executeUpdate();
      }
      connection.commit();
    } catch (SQLException e) {
      throw new StoreException(
          "taking back migration %s failed: %s; the database is at version %d: remove the cause and repeat"
              .formatted(step.name(), reason(e), step.version()),
          e.getSQLState(),
          e);
    }
  }

  /** The database's own message, if there is one. */
  private static String reason(Exception e) {
    String message = e.getMessage();
    for (Throwable cause = e; cause != null; cause = cause.getCause()) {
      if (cause instanceof SQLException) {
        message = cause.getMessage();
      }
    }
    return firstLine(message).replaceFirst("^ERROR: ", "");
  }

  private static String firstLine(@Nullable String message) {
    return message == null
        ? "no reason given"
        : message.lines().filter(line -> !line.isBlank()).findFirst().orElse("no reason given");
  }
}
