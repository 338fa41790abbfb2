package carillon.app;

import carillon.app.config.AdminKey;
import carillon.app.config.Config;
import carillon.app.config.ConfigOptions;
import carillon.app.config.Setting;
import carillon.cli.Console;
import carillon.model.Durations;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code carillon server}: one node, until a signal ends it. */
@Command(
    name = "server",
    description = {
      "Run a node: the API, the dashboard and the engine.",
      "",
      "Every option can also be set as an environment variable (CARILLON_DATA_DIR for --data-dir)"
          + " or in carillon.yaml (data-dir). Options override variables; variables override the"
          + " file."
    })
final class ServerCommand implements Callable<Integer> {

  /** Given to a start that a signal interrupted, on top of the drain timeout. */
  private static final int START_GRACE_SECONDS = 20;

  @Spec private CommandSpec spec = CommandSpec.create();

  private final Console console;
  private final Function<Config, Running> start;

  private ServerCommand(Console console, Function<Config, Running> start) {
    this.console = console;
    this.start = start;
  }

  static CommandLine of(Console console, Function<Config, Running> start) {
    CommandLine command = new CommandLine(new ServerCommand(console, start));
    ConfigOptions.addTo(command.getCommandSpec(), Setting.values());
    return command;
  }

  @Override
  public Integer call() throws InterruptedException {
    Config config = ConfigOptions.load(spec, console);
    Logging.configure(config.log());
    Logger log = LoggerFactory.getLogger(ServerCommand.class);

    CompletableFuture<Running> started = new CompletableFuture<>();
    Thread hook = new Thread(() -> stop(started, config, log), "shutdown");
    Runtime.getRuntime().addShutdownHook(hook);
    try {
      AdminKey key = AdminKey.of(config);
      Running running = start.apply(config);
      greet(running, key, config.node().roles().contains(Config.Role.API));
      warnOfUnintendedChoices(config, running.url().getPort(), log);
      logSettings(config, log);
      started.complete(running);
    } catch (RuntimeException | Error e) { // or the hook would wait for a start that is over
      log.debug("start failed", e);
      started.completeExceptionally(e);
      throw e;
    }
    new CountDownLatch(1).await(); // the hook ends the program
    return 0;
  }

  private static void logSettings(Config config, Logger log) {
    log.info(
        "configuration node={} roles={} bind={} port={} database={} pooler={} poolSize={}"
            + " concurrency={} drainTimeout={} retention={} deadLetterTtl={} dataDir={}"
            + " archiveDir={} allowTargets={}",
        config.node().id(),
        config.node().roles(),
        config.http().bind(),
        config.http().port(),
        config.database().isEmbedded() ? "embedded" : config.database().url(),
        config.database().pooler(),
        config.database().poolSize(),
        config.engine().concurrency(),
        Durations.format(config.engine().drainTimeout()),
        Durations.format(config.engine().retention()),
        Durations.format(config.archive().ttl()),
        config.node().dataDir(),
        config.archive().directory(),
        config.access().allowTargets());
  }

  /**
   * Runs on SIGTERM and SIGINT, also while starting; the status of a failed start is left as it is.
   */
  private static void stop(CompletableFuture<Running> started, Config config, Logger log) {
    if (started.isCompletedExceptionally()) {
      return;
    }
    int status = 0;
    try {
      long maxWait = config.engine().drainTimeout().toSeconds() + START_GRACE_SECONDS;
      log.info("stopping");
      started.get(maxWait, TimeUnit.SECONDS).close();
      log.info("stopped");
    } catch (ExecutionException _) {
      return;
    } catch (TimeoutException | InterruptedException | RuntimeException e) {
      log.error("shutdown failed", e);
      status = 1;
    }
    // Otherwise the status would be that of the signal, 143 or 130.
    Runtime.getRuntime().halt(status);
  }

  /** Warns about choices that may be unintended: a found file, and a port open to the network. */
  private static void warnOfUnintendedChoices(Config config, int port, Logger log) {
    if (config.file() != null) {
      log.info("read configuration file path={}", config.file());
    }
    if (!config.http().isLoopback()) {
      log.warn(
          "plain HTTP is open to the network bind={} port={}; put a TLS proxy in front of it, or"
              + " keys and payloads are sent unencrypted",
          config.http().bind(),
          port);
    }
  }

  private void greet(Running node, AdminKey key, boolean hasApi) {
    String base = node.url().toString().replaceAll("/$", "");
    String metrics =
        node.metricsPort().isEmpty()
            ? ""
            : "\n  Metrics    "
                + base.replaceFirst(":[0-9]+$", ":" + node.metricsPort().getAsInt())
                + "/metrics";
    String running = console.bold("Carillon " + Main.version() + " is running.");
    if (!hasApi) {
      console
          .out()
          .print(
              """

              %s

                Address    %s/%s

              This node runs tasks and serves health and metrics. The API is on nodes with the role api.

              """
                  .formatted(running, base, metrics));
      console.out().flush();
      return;
    }
    Path file = key.file();
    String shownKey = key.isNew() ? key.value() : file == null ? "as given" : "in " + shown(file);
    String bearer = file == null ? "$CARILLON_ADMIN_KEY" : "$(cat '" + shown(file) + "')";
    console
        .out()
        .print(
            """

            %s

              Dashboard  %s/
              API docs   %s/docs
              Admin key  %s%s%s

              Try it:
                curl %s/v1/tasks -H "Authorization: Bearer %s" \\
                  -H 'Content-Type: application/json' -d '{"type": "hello", "delay": "5s", "target": {"discard": {}}}'

            """
                .formatted(
                    running,
                    base,
                    base,
                    key.isNew() ? console.bold(shownKey) : shownKey,
                    key.isNew() && file != null ? "  (new; stored in " + shown(file) + ")" : "",
                    metrics,
                    base,
                    bearer));
    console.out().flush();
  }

  private String shown(Path file) {
    return file.startsWith(console.directory())
        ? console.directory().relativize(file).toString()
        : file.toString();
  }
}
