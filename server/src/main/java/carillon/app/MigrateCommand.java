package carillon.app;

import carillon.app.config.Config;
import carillon.app.config.ConfigOptions;
import carillon.app.config.DatabaseUrl;
import carillon.app.config.Setting;
import carillon.app.postgres.EmbeddedPostgres;
import carillon.cli.CommandFailed;
import carillon.cli.Console;
import carillon.store.db.Db;
import carillon.store.db.Migrations;
import carillon.store.db.Migrations.Step;
import carillon.store.db.StoreException;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code carillon migrate}: brings the schema forward, or back. */
@Command(name = "migrate", description = "Migrate the database schema")
final class MigrateCommand implements Callable<Integer> {

  @Option(
      names = "--to",
      paramLabel = "N",
      description = "target version, up or down. Default: latest")
  private @Nullable Integer to;

  @Option(names = "--dry-run", description = "print the SQL without running it")
  private boolean dryRun;

  @Spec private CommandSpec spec = CommandSpec.create();

  private final Console console;

  private MigrateCommand(Console console) {
    this.console = console;
  }

  static CommandLine of(Console console) {
    CommandLine command = new CommandLine(new MigrateCommand(console));
    ConfigOptions.addTo(
        command.getCommandSpec(),
        Setting.DATABASE_URL,
        Setting.POOLER,
        Setting.DATA_DIR,
        Setting.LOG_FORMAT,
        Setting.LOG_LEVEL);
    return command;
  }

  @Override
  public Integer call() {
    if (to != null && to < 0) {
      throw new CommandFailed(
          "--to: " + to + " is not a version; they start at 0, which is an empty schema");
    }
    Config config = ConfigOptions.load(spec, console);
    Logging.configure(config.log());
    DatabaseUrl url = config.database().url();
    if (url != null) {
      migrate(url.address(config.database().pooler()));
      return 0;
    }
    try (EmbeddedPostgres postgres = EmbeddedPostgres.start(config.node().dataDir())) {
      migrate(new Db.Address(postgres.jdbcUrl(), postgres.user(), postgres.password()));
    }
    return 0;
  }

  private void migrate(Db.Address address) {
    Migrations migrations = Migrations.open(address);
    OptionalInt target = to == null ? OptionalInt.empty() : OptionalInt.of(to);
    List<Step> plan = migrations.plan(target);
    if (plan.isEmpty()) {
      console.out().println("schema is up to date (version " + migrations.current() + ")");
      return;
    }
    for (Step step : plan) {
      String heading =
          "%s %d %s".formatted(step.forward() ? "forward" : "back", step.version(), step.name());
      console.out().println(dryRun ? "-- " + heading + "\n" + step.sql().strip() + "\n" : heading);
    }
    if (dryRun) {
      console.out().println("-- dry run: nothing was changed");
      return;
    }
    try {
      migrations.apply(target);
    } catch (StoreException e) {
      throw new CommandFailed(String.valueOf(e.getMessage()));
    }
    console.out().println("migrated to version " + migrations.current());
  }
}
