package carillon.app;

import carillon.cli.Text;
import ch.qos.logback.classic.pattern.ClassicConverter;
import ch.qos.logback.classic.spi.ILoggingEvent;

/**
 * The message of a log line with control characters escaped: text from a tenant cannot forge a
 * second line.
 */
public final class EscapedMessage extends ClassicConverter {

  @Override
  public String convert(ILoggingEvent event) {
    return Text.visible(event.getFormattedMessage());
  }
}
