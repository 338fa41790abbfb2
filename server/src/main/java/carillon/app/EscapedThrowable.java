package carillon.app;

import carillon.cli.Text;
import ch.qos.logback.classic.pattern.ThrowableHandlingConverter;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.IThrowableProxy;
import ch.qos.logback.classic.spi.StackTraceElementProxy;

/**
 * A stack trace whose messages are escaped as {@link EscapedMessage} does; only its own frames make
 * lines.
 */
public final class EscapedThrowable extends ThrowableHandlingConverter {

  @Override
  public String convert(ILoggingEvent event) {
    StringBuilder trace = new StringBuilder();
    String prefix = "";
    for (IThrowableProxy thrown = event.getThrowableProxy();
        thrown != null;
        thrown = thrown.getCause()) {
      trace.append(prefix).append(thrown.getClassName());
      if (thrown.getMessage() != null) {
        trace.append(": ").append(Text.visible(thrown.getMessage()));
      }
      trace.append('\n');
      StackTraceElementProxy[] frames = thrown.getStackTraceElementProxyArray();
      for (int i = 0; i < frames.length - thrown.getCommonFrames(); i++) {
        trace.append('\t').append(frames[i].getSTEAsString()).append('\n');
      }
      prefix = "Caused by: ";
    }
    return trace.toString();
  }
}
