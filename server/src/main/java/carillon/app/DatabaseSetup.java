package carillon.app;

import carillon.app.config.Config;
import carillon.app.config.DatabaseUrl;
import carillon.app.postgres.EmbeddedPostgres;
import carillon.cli.CommandFailed;
import carillon.engine.Loop;
import carillon.store.db.DatabaseCheck;
import carillon.store.db.Db;
import carillon.store.db.Migrations;
import carillon.store.db.StoreException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.OptionalInt;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Prepares the database of a node: starts the embedded one, checks it and migrates it. */
final class DatabaseSetup {

  private static final Logger log = LoggerFactory.getLogger(DatabaseSetup.class);
  private static final Duration WATCH_INTERVAL = Duration.ofSeconds(1);

  private DatabaseSetup() {}

  static Db.Address prepare(Config config, Lifecycle lifecycle) {
    DatabaseUrl url = config.database().url();
    Db.Address address =
        url == null
            ? startEmbeddedPostgres(config.node().dataDir(), lifecycle)
            : url.address(config.database().pooler());
    DatabaseCheck.refusal(address)
        .ifPresent(
            reason -> {
              throw new CommandFailed(reason);
            });
    DatabaseCheck.advice(address, config.engine().retention())
        .ifPresent(advice -> log.warn("database setting to change: {}", advice));
    try {
      Migrations.open(address).apply(OptionalInt.empty());
    } catch (StoreException e) {
      log.debug("migration failed", e);
      throw new CommandFailed(String.valueOf(e.getMessage()));
    }
    return address;
  }

  private static Db.Address startEmbeddedPostgres(Path dataDir, Lifecycle lifecycle) {
    EmbeddedPostgres postgres = lifecycle.add("embedded-postgres", EmbeddedPostgres.start(dataDir));
    lifecycle.add("postgres-watch", new Loop("postgres", () -> revive(postgres), _ -> {}).start());
    return new Db.Address(postgres.jdbcUrl(), postgres.user(), postgres.password());
  }

  private static Duration revive(EmbeddedPostgres postgres) {
    if (postgres.revive()) {
      log.warn("embedded PostgreSQL had died and was restarted");
    }
    return WATCH_INTERVAL;
  }
}
