package carillon.app;

import carillon.app.config.Config;
import java.util.Locale;
import org.slf4j.bridge.SLF4JBridgeHandler;

/** Sets up logging; call before the first logger is created. See {@code logback.xml}. */
final class Logging {

  private Logging() {}

  static void configure(Config.Log log) {
    System.setProperty("carillon.log.format", log.format().name().toLowerCase(Locale.ROOT));
    System.setProperty("carillon.log.level", log.level());
    SLF4JBridgeHandler.removeHandlersForRootLogger();
    SLF4JBridgeHandler.install();
  }
}
