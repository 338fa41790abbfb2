package carillon.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a method of a bean that does the tasks of one type.
 *
 * <pre>{@code
 * @CarillonTask("invoice.send")
 * void send(Invoice invoice, TaskContext context) { ... }
 * }</pre>
 *
 * <p>It may take the payload, read as the type of the parameter, and a {@link
 * carillon.client.TaskContext}, in any order, either or none. What it returns is the output of the
 * task. To throw is to fail the attempt; {@link carillon.client.RetryLater} and {@link
 * carillon.client.DeadTask} say more.
 */
@Documented
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
public @interface CarillonTask {

  /** The type of the tasks. */
  String value();
}
